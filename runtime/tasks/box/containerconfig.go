package box

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ContainerConfig specifies a container. Only a person's configuration contains it:
// agents cannot choose an image or a mount.
type ContainerConfig struct {
	// Engine is docker or podman. If it is empty, the first of these that works
	// is used. For an executor of kind kubernetes, it is [Kubectl].
	Engine string `json:"engine,omitempty"`
	Image  string `json:"image,omitempty"`
	// Mounts lists folders and files to mount in addition to those of the run,
	// as PATH[:TARGET][:ro|rw]: see [ParseMount].
	Mounts []string `json:"mounts,omitempty"`
	// Network is the name of one of the engine's networks. Empty means the host's
	// network. A closed network takes precedence.
	Network string `json:"network,omitempty"`
	// Memory is a size with the unit b, k, m or g. CPUs and PIDs are the number
	// of processors and processes. Zero values mean the engine's own limits.
	Memory string  `json:"memory,omitempty"`
	CPUs   float64 `json:"cpus,omitempty"`
	PIDs   int     `json:"pids,omitempty"`
	// The following are for a Job. Context and Namespace are kubectl's; empty means its
	// own choice. Secrets names Secrets whose keys become variables. Claims lists persistent
	// volume claims as CLAIM:PATH, where this machine has the volume at PATH.
	Context   string            `json:"context,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Secrets   []string          `json:"secrets,omitempty"`
	Claims    []string          `json:"claims,omitempty"`
	// Projects holds what differs for single projects, by name in lower case:
	// see [ContainerConfig.For].
	Projects map[string]ContainerConfig `json:"projects,omitempty"`
}

// For returns the configuration for a project. Its mounts, labels, secrets and claims are
// added to the others.
func (c ContainerConfig) For(project string) ContainerConfig {
	own := c.Projects[strings.ToLower(project)]
	c.Projects = nil
	return c.Over(own)
}

// Over returns c with each field that is set in other replaced by that value.
// Lists and labels are added.
func (c ContainerConfig) Over(other ContainerConfig) ContainerConfig {
	c.Engine, c.Image, c.Network, c.Memory = cmp.Or(other.Engine, c.Engine), cmp.Or(other.Image, c.Image), cmp.Or(other.Network, c.Network), cmp.Or(other.Memory, c.Memory)
	c.CPUs, c.PIDs = cmp.Or(other.CPUs, c.CPUs), cmp.Or(other.PIDs, c.PIDs)
	c.Context, c.Namespace = cmp.Or(other.Context, c.Context), cmp.Or(other.Namespace, c.Namespace)
	c.Mounts = slices.Concat(c.Mounts, other.Mounts)
	c.Secrets, c.Claims = slices.Concat(c.Secrets, other.Secrets), slices.Concat(c.Claims, other.Claims)
	if other.Labels != nil {
		labels := maps.Clone(other.Labels)
		for name, value := range c.Labels {
			if _, has := labels[name]; !has {
				labels[name] = value
			}
		}
		c.Labels = labels
	}
	if c.Projects == nil {
		c.Projects = other.Projects
	}
	return c
}

// Texts of these forms cannot be taken for an option of the engine. An image has
// a name, and perhaps a tag and a digest.
var (
	imageForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}$`) })
	networkForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`) })
	memoryForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9][0-9]{0,15}[bkmgBKMG]?$`) })
)

// Check describes what is wrong with the values that are set, or returns "".
func (c ContainerConfig) Check() string {
	switch {
	case c.Engine != "" && c.Engine != Kubectl && !slices.Contains(engines, c.Engine):
		return fmt.Sprintf("engine %q is not one of %s", c.Engine, strings.Join(engines, ", "))
	case c.Image != "" && !imageForm().MatchString(c.Image):
		return fmt.Sprintf("image %q is not the name of an image", c.Image)
	case c.Network != "" && (!networkForm().MatchString(c.Network) || c.Network == "host" || c.Network == "none" || c.Network == "private"):
		return fmt.Sprintf("network %q is not the name of one of the engine's networks; sandbox_network closes the network", c.Network)
	case c.Memory != "" && !memoryForm().MatchString(c.Memory):
		return fmt.Sprintf("memory %q is not a number with b, k, m or g", c.Memory)
	case c.CPUs < 0 || c.CPUs > 4096:
		return fmt.Sprintf("cpus %v is not a number of processors", c.CPUs)
	case c.PIDs < 0:
		return fmt.Sprintf("pids %d is negative", c.PIDs)
	}
	for _, text := range c.Mounts {
		if _, err := ParseMount(text); err != nil {
			return err.Error()
		}
	}
	if wrong := c.checkJob(); wrong != "" {
		return wrong
	}
	for name, p := range c.Projects {
		if p.Engine = cmp.Or(p.Engine, c.Engine); (p.Engine == Kubectl) != (c.Engine == Kubectl) {
			return fmt.Sprintf("project %s: its engine is %q", name, p.Engine)
		}
		if wrong := p.Check(); wrong != "" {
			return fmt.Sprintf("project %s: %s", name, wrong)
		}
		if name != strings.ToLower(name) || p.Projects != nil {
			return fmt.Sprintf("project %s: write its name in lower case, without projects in it", name)
		}
	}
	return ""
}

// limits returns the engine's options for the limits.
func (c ContainerConfig) limits() (line []string) {
	if c.Memory != "" {
		line = append(line, "--memory", c.Memory)
	}
	if c.CPUs > 0 {
		line = append(line, "--cpus", strconv.FormatFloat(c.CPUs, 'f', -1, 64))
	}
	if c.PIDs > 0 {
		line = append(line, "--pids-limit", strconv.Itoa(c.PIDs))
	}
	return line
}

// Mount is a folder or file of this machine in a container.
type Mount struct {
	// Source may begin with ~ for the user's home.
	Source, Target string
	Writable       bool
}

// ParseMount parses PATH[:TARGET][:ro|rw]. PATH starts with / or ~/. Without
// TARGET, the container has it at the same path. Without rw, the container can
// only read it.
func ParseMount(text string) (m Mount, err error) {
	bad := func(why string) (Mount, error) { return Mount{}, fmt.Errorf("mount %q: %s", text, why) }
	if strings.ContainsAny(text, ",\"\x00\r\n") {
		return bad("a path with a comma, a quote or a line break cannot be mounted")
	}
	parts := strings.Split(text, ":")
	if last := parts[len(parts)-1]; len(parts) > 1 && (last == "ro" || last == "rw") {
		m.Writable, parts = last == "rw", parts[:len(parts)-1]
	}
	if len(parts) > 2 {
		return bad("it is not PATH[:TARGET][:ro|rw]")
	}
	m.Source = parts[0]
	if !filepath.IsAbs(m.Source) && !strings.HasPrefix(m.Source, "~/") {
		return bad("its path does not start with / or ~/")
	}
	m.Source = filepath.Clean(m.Source)
	if m.Target = m.Source; len(parts) == 2 {
		m.Target = parts[1]
	}
	if !strings.HasPrefix(m.Target, "/") && !strings.HasPrefix(m.Target, "~/") || len(parts) == 2 && m.Target == "" {
		return bad("its target is not an absolute path")
	}
	m.Target = filepath.Clean(m.Target)
	for _, own := range []string{"/", "/proc", "/sys", "/dev"} {
		if m.Target == own || own != "/" && strings.HasPrefix(m.Target, own+"/") {
			return bad("the container has its own " + own + "; add another target")
		}
	}
	return m, nil
}

// at returns the mount with its paths in home. Links in Source are resolved.
func (m Mount) at(home string) (Mount, error) {
	for _, path := range []*string{&m.Source, &m.Target} {
		if rest, ok := strings.CutPrefix(*path, "~"); ok {
			*path = filepath.Clean(home + rest)
		}
	}
	real, err := filepath.EvalSymlinks(m.Source)
	if err != nil {
		return m, fmt.Errorf("mount %s: %w", m.Source, err)
	}
	m.Source = real
	return m, nil
}

// CheckMounts returns an error for a mount whose source is in a folder that agents
// never see.
func CheckMounts(mounts []string, home, hidden string) error {
	real, err := filepath.EvalSymlinks(hidden)
	if err != nil {
		return nil // it does not exist
	}
	for _, text := range mounts {
		m, err := ParseMount(text)
		if err == nil {
			m, err = m.at(home)
		}
		if err != nil {
			return err
		}
		if m.Source == real || below(m.Source, real) {
			return fmt.Errorf("mount %q is in %s, which agents never see", text, hidden)
		}
	}
	return nil
}
