package elicit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"

	"github.com/deskhand/deskhand/runtime/store"
)

// Station is an attached surface of a process. While one is attached, every process
// can reach a person.
type Station struct {
	// Kind is, for example, inbox, terminal, slack or push.
	Kind string `json:"kind"`
	// Address is where a person finds it, for example a URL.
	Address string `json:"address,omitempty"`
	// Public is the address at which others reach it, if its process knows one.
	Public string `json:"public,omitempty"`
	// Host is the machine of its process, from [Options.Host].
	Host string `json:"host,omitempty"`
	// Elsewhere reports that it is on another machine than the process that asks.
	Elsewhere bool `json:"-"`
	// Alone allows only one station of this kind among all processes of a machine.
	Alone bool `json:"alone,omitempty"`
	// Mail reports that its process sends mail.
	Mail bool `json:"mail,omitempty"`
	// Members lists the people it reaches in addition to the user of this machine.
	Members []Member `json:"members,omitempty"`
}

const stationPrefix = "station/"

// Attach announces a station until detach is called or this process exits. If
// s.Alone is set and another process of this machine has a station of that kind, held is
// false and other is that station. When that process exits, Attach may be called again; if s
// has no address, other then has the previous address.
func (h *Hub) Attach(ctx context.Context, s Station) (other Station, held bool, detach func(), err error) {
	name := stationPrefix + s.Kind
	s.Host = h.host()
	switch {
	case !s.Alone:
		name += "/" + rand.Text() // there may be several of a kind
	case s.Host != "":
		name += "/" + s.Host
	}
	l := store.Lease{Name: name, Holder: h.instance}
	if s.Address != "" || s.Public != "" || len(s.Members) > 0 {
		data, err := json.Marshal(s)
		if err != nil {
			return Station{}, false, nil, fmt.Errorf("encode station: %w", err)
		}
		l.Data = string(data)
	}
	l, held, err = h.db.Claim(ctx, l, leaseTime)
	if err != nil {
		return Station{}, false, nil, err
	}
	other = station(l)
	if !held {
		return other, false, func() {}, nil
	}
	k := &h.sweeper
	k.mu.Lock()
	k.stations[name] = l
	k.mu.Unlock()
	k.ring()
	return other, true, sync.OnceFunc(func() {
		k.mu.Lock()
		delete(k.stations, name)
		k.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
		defer cancel()
		err := k.lock(ctx) // else a renewal that has begun could claim it again
		if err == nil {
			defer k.unlock()
			err = h.db.Release(ctx, name, h.instance)
		}
		h.warn("release station", err)
	}), nil
}

// host returns this machine's ID, or "" if there are no other machines.
func (h *Hub) host() string {
	if h.options.Host == nil {
		return ""
	}
	return h.options.Host()
}

// Reach lists the attached stations of all processes as this machine reaches them: if one
// listens on another machine's loopback, its Address is empty.
func (h *Hub) Reach(ctx context.Context) ([]Station, error) {
	up, err := Stations(ctx, h.db)
	if err != nil || len(up) == 0 {
		return up, err
	}
	here := h.host()
	for i := range up {
		s := &up[i]
		if s.Elsewhere = here != "" && s.Host != "" && s.Host != here; s.Elsewhere && onLoopback(s.Address) {
			s.Address = ""
		}
	}
	return up, nil
}

func onLoopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

// Stations lists the attached stations of all processes with the addresses that these know.
func Stations(ctx context.Context, db *store.DB) ([]Station, error) {
	var up []Station
	err := db.View(ctx, func(tx *store.Tx) error {
		leases, err := tx.Leases(ctx, stationPrefix)
		for _, l := range leases {
			up = append(up, station(l))
		}
		return err
	})
	return up, err
}

// Reachable reports whether a person may see this hub's requests: the hub is
// attended, or some process has a station.
func (h *Hub) Reachable(ctx context.Context) (bool, error) {
	if h.options.Attended {
		return true, nil
	}
	up, err := h.Reach(ctx)
	return len(up) > 0, err
}

// station decodes a lease that Attach wrote. The kind is also in the lease's
// name.
func station(l store.Lease) Station {
	var s Station
	if json.Unmarshal([]byte(l.Data), &s) != nil || s.Kind == "" {
		kind, _, several := strings.Cut(strings.TrimPrefix(l.Name, stationPrefix), "/")
		s = Station{Kind: kind, Alone: !several}
	}
	return s
}
