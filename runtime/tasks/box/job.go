package box

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Kubectl is the engine that runs each container as a Job of Kubernetes.
const Kubectl = "kubectl"

// Job is a Job of Kubernetes that runs one program. This program, as kubectl's caller,
// creates the Job and is connected to this program in its pod: see [runJob] and [serveJob].
type Job struct {
	Where    jobPlace
	Manifest json.RawMessage
	// Dir is the working directory, and Names are the variables that the program gets from
	// the caller's environment.
	Dir   string
	Names []string
	// Files are the paths of files that the caller sends, because they are not on a claim.
	Files []string
	// Ports are ports on the caller's loopback that the program reaches at the same ports.
	Ports []int
}

// jobPlace is where a Job is, as words of kubectl's command line and of a record.
type jobPlace struct{ Context, Namespace, Name string }

// String returns what [parseJobPlace] reads.
func (j jobPlace) String() string { return j.Context + "/" + j.Namespace + "/" + j.Name }

// A context may contain slashes, as those of cloud providers do.
var jobPlaceForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^\s]*)/([a-z0-9-]*)/(` + containerPrefix + `[a-z0-9-]+)$`)
})

func parseJobPlace(text string) (j jobPlace, ok bool) {
	m := jobPlaceForm().FindStringSubmatch(text)
	if m == nil || strings.HasPrefix(m[1], "-") || strings.HasPrefix(m[2], "-") {
		return j, false
	}
	return jobPlace{m[1], m[2], m[3]}, true
}

// args returns the arguments of kubectl for a command at the Job's place.
func (j jobPlace) args(words ...string) []string {
	var line []string
	if j.Context != "" {
		line = append(line, "--context", j.Context)
	}
	if j.Namespace != "" {
		line = append(line, "--namespace", j.Namespace)
	}
	return append(line, words...)
}

// jobNames are the labels of a Job and its pods with the Job's own name and the run.
const (
	jobNameLabel  = "deskhand.job"
	maxObjectName = 63
)

var (
	contextForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,250}$`) })
	objectForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`) })
	spaceForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`) })
	labelForm   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	})
	valueForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`) })
)

// checkJob describes what is wrong with the values that only a Job has, or returns "".
func (c ContainerConfig) checkJob() string {
	switch {
	case c.Engine != Kubectl:
		if c.Context+c.Namespace != "" || len(c.Labels)+len(c.Claims)+len(c.Secrets) > 0 {
			return "context, namespace, labels, claims and secrets need the kind kubernetes"
		}
	case c.Network != "" || c.PIDs != 0 || len(c.Mounts) > 0:
		return "network, pids and mounts do not apply to a Job"
	case c.Context != "" && !contextForm().MatchString(c.Context):
		return fmt.Sprintf("context %q is not the name of a context", c.Context)
	case c.Namespace != "" && !spaceForm().MatchString(c.Namespace):
		return fmt.Sprintf("namespace %q is not the name of a namespace", c.Namespace)
	}
	for name, value := range c.Labels {
		if !labelForm().MatchString(name) || !valueForm().MatchString(value) || strings.HasPrefix(name, "deskhand.") {
			return fmt.Sprintf("label %s=%s is not a label that you can choose", name, value)
		}
	}
	for _, name := range c.Secrets {
		if !objectForm().MatchString(name) {
			return fmt.Sprintf("secret %q is not the name of a Secret; values do not belong here", name)
		}
	}
	for _, text := range c.Claims {
		if _, err := parseClaim(text); err != nil {
			return err.Error()
		}
	}
	return ""
}

// claim is a persistent volume claim of which this machine has the volume at a path.
type claim struct{ name, path string }

func parseClaim(text string) (c claim, err error) {
	name, path, _ := strings.Cut(text, ":")
	if !objectForm().MatchString(name) || !strings.HasPrefix(path, "/") || filepath.Clean(path) == "/" {
		return c, fmt.Errorf("claim %q is not CLAIM:PATH, with the path at which this machine has its volume", text)
	}
	return claim{name, filepath.Clean(path)}, nil
}

// claims returns the claims, those deeper in the file system first.
func (c ContainerConfig) claims() (all []claim, err error) {
	for _, text := range c.Claims {
		one, err := parseClaim(text)
		if err != nil {
			return nil, err
		}
		if real, err := filepath.EvalSymlinks(one.path); err == nil {
			one.path = real
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b claim) int { return len(b.path) - len(a.path) })
	return all, nil
}

// object is an object of JSON.
type object = map[string]any

// job returns this program's command line that runs line in a Job, and the environment of
// that program. The Job has no values of variables, and no prompt: the pod gets both
// through the connection.
func (p Policy) job(dir string, line, env []string, in Inner) (outer, outerEnv []string, err error) {
	unavailable := func(why, hint string) ([]string, []string, error) {
		return nil, nil, fault.New(SandboxUnavailable, why, hint)
	}
	if p.Network.Closed {
		return unavailable("deskhand cannot close the network of a Job", "close it with a NetworkPolicy, and set the executor's sandbox_network to on")
	}
	names, outerEnv, plain := containerEnvironment(env)
	in.Alive, in.Socket = "", ""
	in.Env = append(plain, in.Env...)
	place := jobPlace{p.Container.Context, p.Container.Namespace, p.containerName()}
	manifest, sent, err := p.manifest(place.Name, dir)
	if err != nil {
		return unavailable(err.Error(), "name a claim with this folder in the executor's container.claims")
	}
	in.Job = &Job{Where: place, Manifest: manifest, Dir: dir, Names: names, Files: sent, Ports: in.Ports}
	in.Ports = nil
	inside, err := json.Marshal(in)
	if err != nil {
		return nil, nil, err
	}
	return slices.Concat(p.Self, []string{string(inside), "--"}, line), outerEnv, record(p.Record, Kubectl, place.String())
}

// containerName returns a new name for a container of the run.
func (p Policy) containerName() string {
	end := "-" + strings.ToLower(rand.Text()[:10])
	name := containerPrefix + p.runName()
	return strings.TrimRight(name[:min(len(name), maxObjectName-len(end))], "-") + end
}

// manifest returns the Job. sent are the paths of the policy that are not on a claim.
func (p Policy) manifest(name, dir string) (text []byte, sent []string, err error) {
	claims, err := p.Container.claims()
	if err != nil {
		return nil, nil, err
	}
	pod := podVolumes{}
	pod.add("tmp", object{"emptyDir": object{}}, "/tmp", "", false)
	if p.Home != "" {
		pod.add("home", object{"emptyDir": object{}}, p.Home, "", false)
	}
	pod.add("temp", object{"emptyDir": object{}}, p.Temp, "", false)
	has := false // the working directory
	for _, one := range p.parts() {
		i := slices.IndexFunc(claims, func(c claim) bool { return one.path == c.path || below(one.path, c.path) })
		switch {
		case one.what == hide || one.what == seal: // already hidden, unless it is inside a mounted folder
			if one.path != p.Home && isFolder(one.path) && slices.ContainsFunc(pod.mounted, func(at string) bool { return at != p.Home && below(one.path, at) }) {
				pod.add(fmt.Sprintf("hidden-%d", len(pod.mounted)), object{"emptyDir": object{}}, one.path, "", true)
			}
		case i < 0:
			if one.what == read && one.path != p.Self[0] {
				sent = append(sent, one.path)
			}
		default:
			sub, err := filepath.Rel(claims[i].path, one.path)
			if err != nil {
				return nil, nil, err
			}
			pod.add(fmt.Sprintf("claim-%d", i), object{"persistentVolumeClaim": object{"claimName": claims[i].name}}, one.path, sub, one.what == read)
			has = has || one.path == dir || below(dir, one.path)
		}
	}
	if !has {
		return nil, nil, fmt.Errorf("the pod cannot have %s: it is on no claim", dir)
	}
	sent = append(sent, p.Temp)
	labels := object{"app.kubernetes.io/name": "deskhand", "app.kubernetes.io/managed-by": "deskhand", containerLabel: p.runLabel(), jobNameLabel: name}
	for key, value := range p.Container.Labels {
		labels[key] = value
	}
	text, err = json.Marshal(object{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": object{"name": name, "labels": labels},
		"spec": object{
			"backoffLimit":            0,
			"ttlSecondsAfterFinished": 3600, // if nobody is left who removes it
			"template": object{"metadata": object{"labels": labels}, "spec": object{
				"restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false,
				"terminationGracePeriodSeconds": 10,
				"containers":                    []object{p.podContainer(dir, pod.mounts)},
				"volumes":                       pod.volumes,
			}},
		},
	})
	return text, sent, err
}

// runLabel is the run's ID as the value of a label.
func (p Policy) runLabel() string {
	name := p.runName()
	return strings.Trim(name[:min(len(name), maxObjectName)], "-")
}

// jobContainer is the name of the container in a Job's pod.
const jobContainer = "agent"

func (p Policy) podContainer(dir string, mounts []object) object {
	security := object{"allowPrivilegeEscalation": false, "capabilities": object{"drop": []string{"ALL"}}, "seccompProfile": object{"type": "RuntimeDefault"}}
	if uid := os.Getuid(); uid >= 0 { // files on the claims belong to the user
		security["runAsUser"], security["runAsGroup"] = uid, os.Getgid()
		if uid > 0 {
			security["runAsNonRoot"] = true // a namespace with the restricted Pod Security Standard wants it in words
		}
	}
	limits := object{}
	if m := p.Container.Memory; m != "" {
		limits["memory"] = kubernetesQuantity(m)
	}
	if p.Container.CPUs > 0 {
		limits["cpu"] = fmt.Sprint(p.Container.CPUs)
	}
	var from []object
	for _, name := range p.Container.Secrets {
		from = append(from, object{"secretRef": object{"name": name}})
	}
	c := object{"name": jobContainer, "image": p.Container.Image, "command": slices.Concat([]string{"deskhand"}, Args, []string{`{"Served":true}`, "--", "-"}),
		"workingDir": dir, "stdin": true, "stdinOnce": true, "securityContext": security, "volumeMounts": mounts, "resources": object{"limits": limits}}
	if from != nil {
		c["envFrom"] = from
	}
	return c
}

// kubernetesQuantity returns a size in the notation of Kubernetes.
func kubernetesQuantity(size string) string {
	number := strings.TrimRight(size, "bkmgBKMG")
	return number + map[string]string{"k": "Ki", "m": "Mi", "g": "Gi"}[strings.ToLower(size[len(number):])]
}

// podVolumes are the volumes of a pod and where they are mounted, parent folders first.
type podVolumes struct {
	volumes, mounts []object
	mounted         []string
}

// add mounts a volume. Kubernetes refuses a path that is mounted twice.
func (v *podVolumes) add(name string, source object, at, sub string, readOnly bool) {
	if slices.Contains(v.mounted, at) {
		return
	}
	v.mounted = append(v.mounted, at)
	if !slices.ContainsFunc(v.volumes, func(o object) bool { return o["name"] == name }) {
		source["name"] = name
		v.volumes = append(v.volumes, source)
	}
	mount := object{"name": name, "mountPath": at}
	if sub = cmp.Or(sub, "."); sub != "." {
		mount["subPath"] = sub
	}
	if readOnly {
		mount["readOnly"] = true
	}
	v.mounts = append(v.mounts, mount)
}
