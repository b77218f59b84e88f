package platform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/godbus/dbus/v5"
)

// systemd's bus name, object and interfaces, org.freedesktop.systemd1(5).
const (
	systemdName    = "org.freedesktop.systemd1"
	systemdObject  = "/org/freedesktop/systemd1"
	systemdManager = systemdName + ".Manager"
	systemdNoUnit  = systemdName + ".NoSuchUnit"
)

// MainPID answers whether a process is the main process of a service of the
// systemd that is its parent. Being somewhere in a unit's cgroup is no answer: the
// manager is asked for the MainPID of that one unit. A process outside every
// service's cgroup is none; where the manager cannot be asked it is Unknown. One
// that once gave no answer in time is not asked again.
func (r *Reader) MainPID(ctx context.Context, id Identity) Answer {
	st, err := r.stat(&scratch{}, id.PID)
	if err != nil || st.start != id.Start {
		return Unknown
	}
	manager := st.ppid
	if _, silent := r.silent.Load(manager); silent {
		return Unknown
	}
	is := within(ctx, func() Answer {
		own, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", id.PID))
		if err != nil {
			return Unknown
		}
		above, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", manager))
		if err != nil {
			return Unknown
		}
		unit := serviceUnit(own, above)
		if unit == "" {
			return No
		}
		main, err := askMainPID(ctx, manager, unit)
		if err != nil || !r.holds(id) {
			return Unknown
		}
		return AnswerOf(main == uint32(id.PID))
	})
	if is == Unknown && ctx.Err() != nil {
		r.silent.Store(manager, nil)
	}
	return is
}

// serviceUnit is the service whose cgroup, below its manager's own, holds the
// process; "" where none does. Both texts are /proc/PID/cgroup, cgroups(7); the
// manager itself lives in init.scope.
func serviceUnit(own, manager []byte) string {
	for _, hierarchy := range []string{"0::", "1:name=systemd:", "name=systemd:"} {
		at, root := cgroupIn(own, hierarchy), cgroupIn(manager, hierarchy)
		if at == "" || root == "" {
			continue
		}
		root = strings.TrimSuffix(strings.TrimSuffix(root, "/init.scope"), "/")
		below, ok := strings.CutPrefix(at, root+"/")
		if !ok {
			continue
		}
		for _, part := range strings.Split(below, "/") {
			if strings.HasSuffix(part, ".service") {
				return part
			}
			if !strings.HasSuffix(part, ".slice") {
				break
			}
		}
	}
	return ""
}

// cgroupIn is the path of the hierarchy whose line holds the given prefix or tag.
func cgroupIn(text []byte, hierarchy string) string {
	for line := range bytes.Lines(text) {
		if _, found, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), hierarchy); ok && strings.HasPrefix(found, "/") {
			return found
		}
	}
	return ""
}

// askMainPID asks a manager for a service's MainPID, 0 for none. Its private
// socket serves root and its own user without a bus; the sockets are looked up in
// the manager's own mount namespace.
func askMainPID(ctx context.Context, manager int, unit string) (uint32, error) {
	conn, err := dialManager(ctx, manager)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	var at dbus.ObjectPath
	err = conn.Object(systemdName, systemdObject).CallWithContext(ctx, systemdManager+".GetUnit", 0, unit).Store(&at)
	var refused dbus.Error
	if errors.As(err, &refused) && refused.Name == systemdNoUnit {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("ask process %d for unit %s: %w", manager, unit, err)
	}
	var main uint32
	err = conn.Object(systemdName, at).CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, systemdName+".Service", "MainPID").Store(&main)
	if err != nil {
		return 0, fmt.Errorf("ask process %d for the MainPID of %s: %w", manager, unit, err)
	}
	return main, nil
}

func dialManager(ctx context.Context, manager int) (*dbus.Conn, error) {
	root := fmt.Sprintf("/proc/%d/root", manager)
	runtime := "/run"
	if manager != 1 {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", manager))
		if err != nil {
			return nil, fmt.Errorf("read the environment of process %d: %w", manager, err)
		}
		runtime = lookup(env, "XDG_RUNTIME_DIR")
	}
	if !path.IsAbs(runtime) {
		return nil, fmt.Errorf("process %d names no runtime directory", manager)
	}
	conn, err := dbus.Dial("unix:path="+dbus.EscapeBusAddressValue(path.Join(root, runtime, "systemd/private")), dbus.WithContext(ctx))
	if err == nil {
		if err = conn.Auth(nil); err == nil {
			return conn, nil
		}
		conn.Close()
	}
	if manager != 1 {
		return nil, fmt.Errorf("reach process %d by its private socket: %w", manager, err)
	}
	conn, err = dbus.Connect("unix:path="+root+"/run/dbus/system_bus_socket", dbus.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("reach process %d by the system bus: %w", manager, err)
	}
	return conn, nil
}

// lookup is the value of a variable in an environment block, "" for none.
func lookup(block []byte, name string) string {
	for _, entry := range bytes.Split(block, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}
