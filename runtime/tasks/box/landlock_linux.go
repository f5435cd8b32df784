package box

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Versions of Landlock's ABI that introduced a feature. This package uses the
// feature, or reports that it is missing.
const (
	landlockTruncate = 3 // required: older versions cannot prevent truncating a read-only file
	landlockTCP      = 4
	landlockScopes   = 6 // signals and abstract sockets
	landlockSockets  = 9 // connecting to sockets that are files
)

// landlockVersion returns the ABI version of this kernel, or 0 if it has no Landlock.
func landlockVersion() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// restrict applies the rules to this process, and to the program that replaces it.
func (r Rules) restrict() error {
	var fs []landlock.Rule
	fs = append(fs, landlock.PathAccess(readFile, r.onlyFiles(r.Read)...).IgnoreIfMissing())
	fs = append(fs, landlock.RODirs(r.onlyFolders(r.Read)...).IgnoreIfMissing())
	fs = append(fs, landlock.RWFiles(r.onlyFiles(r.Write)...).IgnoreIfMissing())
	fs = append(fs, landlock.RWDirs(r.onlyFolders(r.Write)...).WithRefer().IgnoreIfMissing())
	fs = append(fs, landlock.RWFiles(r.onlyFiles(r.Devices)...).WithIoctlDev().IgnoreIfMissing())
	fs = append(fs, landlock.RWDirs(r.onlyFolders(r.Devices)...).WithIoctlDev().IgnoreIfMissing())
	best := landlock.V11.BestEffort()
	if err := best.RestrictPaths(fs...); err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	if err := best.RestrictScoped(); err != nil {
		return fmt.Errorf("restrict signals: %w", err)
	}
	if !r.Closed {
		return dropCapabilities()
	}
	// Programs may listen, because no process outside knows their ports.
	config, err := landlock.NewConfig(landlock.AccessNetSet(ll.AccessNetConnectTCP))
	if err != nil {
		return err
	}
	var net []landlock.Rule
	for _, port := range r.Ports {
		net = append(net, landlock.ConnectTCP(uint16(port)))
	}
	if err := config.RestrictNet(net...); err != nil {
		return fmt.Errorf("restrict the network: %w", err)
	}
	return dropCapabilities()
}

// dropCapabilities removes root's special capabilities from this thread, and
// from the program that replaces it. Otherwise the program could use
// CAP_PERFMON to read the memory of processes, which Landlock does not prevent.
func dropCapabilities() error {
	runtime.LockOSThread() // never unlocked, because this thread becomes the program
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EPERM) {
			break // a process that may not drop capabilities has none and cannot get any
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

const readFile = landlock.AccessFSSet(ll.AccessFSExecute | ll.AccessFSReadFile)

func (Rules) onlyFiles(paths []string) (found []string) {
	for _, p := range paths {
		if isThere(p) && !isFolder(p) {
			found = append(found, p)
		}
	}
	return found
}

func (Rules) onlyFolders(paths []string) (found []string) {
	for _, p := range paths {
		if isFolder(p) {
			found = append(found, p)
		}
	}
	return found
}
