package settings

import "testing"

// A server that other machines reach is found out by each setting that has it
// reached.
func TestAttackDoorsUpstreamWhoReachesAServer(t *testing.T) {
	for what, c := range map[string]struct {
		people, addr, host, public, connect, base string
		want                                      string
	}{
		"stdio":                {addr: "", host: "desk.example.com", want: peopleAuto},
		"loopback":             {addr: "127.0.0.1:20310", want: peopleAuto},
		"loopback of IPv6":     {addr: "[::1]:20310", want: peopleAuto},
		"localhost":            {addr: "localhost:20310", want: peopleAuto},
		"a name of loopback":   {addr: "127.0.0.1:20310", host: "desk.localhost", public: "http://desk.localhost:20310", want: peopleAuto},
		"any address":          {addr: "0.0.0.0:20310", want: peopleMany},
		"any address of IPv6":  {addr: "[::]:20310", want: peopleMany},
		"no host":              {addr: ":20310", want: peopleMany},
		"the network":          {addr: "192.168.1.5:20310", want: peopleMany},
		"a name":               {addr: "desk:20310", want: peopleMany},
		"behind a proxy":       {addr: "127.0.0.1:20310", host: "desk.example.com", want: peopleMany},
		"notifications":        {addr: "127.0.0.1:20310", public: "https://desk.example.com", want: peopleMany},
		"below a path":         {addr: "127.0.0.1:20310", base: "https://desk.example.com/deskhand", want: peopleMany},
		"the page to sign in":  {addr: "127.0.0.1:20310", connect: "https://desk.example.com", want: peopleMany},
		"looks like this host": {addr: "127.0.0.1:20310", host: "localhost.example.com", want: peopleMany},
		"said to be one":       {people: peopleOne, addr: "0.0.0.0:20310", want: peopleOne},
		"said to be many":      {people: peopleMany, addr: "", want: peopleMany},
		"what nobody can mean": {people: "two", addr: "", want: ""},
	} {
		t.Run(what, func(t *testing.T) {
			people := c.people
			if people == "" {
				people = peopleAuto
			}
			s := &Settings{values: map[string]value{"gateway.people": {[]string{people}, ByDefault}, "allow-host": {nil, ByDefault},
				"public-url": {[]string{c.public}, ByDefault}, "connect.url": {[]string{c.connect}, ByDefault}, "base-url": {[]string{c.base}, ByDefault}}}
			if c.host != "" {
				s.values["allow-host"] = value{[]string{c.host}, ByDefault}
			}
			err := s.DecidePeople(c.addr)
			if got := s.get("gateway.people"); (err != nil) != (c.want == "") || err == nil && got != c.want {
				t.Errorf("gateway.people is %s, %v; want %s", got, err, c.want)
			}
		})
	}
}
