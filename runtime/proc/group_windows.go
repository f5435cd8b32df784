package proc

import (
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Group is a job object. It contains a program and the processes that the
// program starts. Windows kills them when the last handle to the job is closed,
// including when this process dies. The methods of Group may be called
// concurrently.
type Group struct {
	job windows.Handle
	pid uint32
}

// Start starts cmd in a new job. Call [Group.Close] after cmd has exited. Start
// replaces cmd.SysProcAttr.
func Start(cmd *exec.Cmd) (*Group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	if err := cmd.Start(); err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	g := &Group{job, uint32(cmd.Process.Pid)}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, g.pid)
	if err == nil {
		// If the program started other processes before this line, they are not
		// in the job.
		err = windows.AssignProcessToJobObject(job, process)
		windows.CloseHandle(process)
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		windows.CloseHandle(job)
		return nil, err
	}
	return g, nil
}

// Interrupt sends Ctrl-Break to the group, because Windows cannot send Ctrl-C
// to a single group. A program without a console does not receive it.
func (g *Group) Interrupt() { windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, g.pid) }

// Terminate does the same as Kill, because Windows has no gentler method.
func (g *Group) Terminate() { g.Kill() }

// Kill kills the job's processes. It does not wait.
func (g *Group) Kill() { windows.TerminateJobObject(g.job, 1) }

// Close closes the handle to the job of a group that has ended. Call it once.
func (g *Group) Close() { windows.CloseHandle(g.job) }
