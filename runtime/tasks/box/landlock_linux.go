package box

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// What the versions of Landlock's interface can do, which this package relies on
// or says that it lacks.
const (
	landlockTruncate = 3 // before it a file that cannot be written can be emptied: too little
	landlockTCP      = 4
	landlockScopes   = 6 // signals and abstract sockets
	landlockSockets  = 9 // connecting to sockets that are files
)

// landlockVersion is that of this kernel; 0: it has none.
func landlockVersion() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// restrict applies rules to this process and all that it will become.
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
	// Programs may listen: nobody outside is told to come.
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

// dropCapabilities takes what root may do beyond its own files from this thread,
// and from what it becomes: Linux lets CAP_PERFMON read the memory of processes
// without asking Landlock.
func dropCapabilities() error {
	runtime.LockOSThread() // and never unlocked: this thread becomes the program
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EPERM) {
			break // who may not drop them has none, and cannot get any
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
