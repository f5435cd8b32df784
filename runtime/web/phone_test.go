package web

import (
	"fmt"
	"image"
	"image/draw"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	qr "github.com/piglig/go-qr"

	"github.com/deskhand/deskhand/runtime/web/page"
)

func TestAPhoneGetsALinkThatSignsItIn(t *testing.T) {
	for name, c := range map[string]struct{ public, want string }{
		"reached only here":     {"", ""},
		"known outside":         {"https://desk.example.org", "https://desk.example.org/login?key="},
		"below a path":          {"https://example.org/desk/", "https://example.org/desk/login?key="},
		"public, but this host": {"http://127.0.0.1:1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			rt := run(t, Options{Token: rightToken, People: in, Public: c.public, Shell: page.New([]byte("key")), Mounts: map[string]http.Handler{}})
			browser := newBrowser(t)
			if path, _ := visit(t, newBrowser(t), "http://"+rt.addr+"/phone"); !strings.HasPrefix(path, "/login") {
				t.Errorf("a stranger's /phone ends at %s, want /login", path)
			}
			visit(t, browser, in.LoginLink("http://"+rt.addr, "/"))
			_, body := visit(t, browser, in.Home("http://"+rt.addr)+"/phone")
			if c.want == "" {
				if strings.Contains(body, "<svg class=\"qr\"") || !strings.Contains(body, "public_url") {
					t.Errorf("/phone shows a code, or not what to set: %s", body)
				}
				return
			}
			_, after, _ := strings.Cut(body, "<code dir=\"ltr\">")
			link, _, _ := strings.Cut(after, "<")
			if !strings.HasPrefix(link, c.want) {
				t.Fatalf("the link is %q, want %s...", link, c.want)
			}
			if !strings.Contains(body, "<svg class=\"qr\"") {
				t.Error("/phone shows no code")
			}
			to, err := url.Parse(link)
			if err != nil {
				t.Fatal(err)
			}
			phone := newBrowser(t)
			if path, _ := visit(t, phone, in.Home("http://"+rt.addr)+"/login?"+to.RawQuery); path != "/" {
				t.Errorf("the link leads the phone to %s, want /", path)
			}
		})
	}
}

func TestACodeIsReadAsItsLink(t *testing.T) {
	link := in.LoginLink("https://desk.example.org", "/")
	code, err := qr.EncodeText(link, qr.Medium)
	if err != nil {
		t.Fatal(err)
	}
	// A camera sees the drawing, four pixels for each module.
	side := code.Size() + 2*quietZone
	seen := image.NewGray(image.Rect(0, 0, side*4, side*4))
	draw.Draw(seen, seen.Bounds(), image.White, image.Point{}, draw.Src)
	for _, m := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-`).FindAllStringSubmatch(string(drawn(code)), -1) {
		var x, y, n int
		if _, err := fmt.Sscan(m[1], &x); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(m[2]+" "+m[3], &y, &n); err != nil {
			t.Fatal(err)
		}
		draw.Draw(seen, image.Rect(x*4, y*4, (x+n)*4, (y+1)*4), image.Black, image.Point{}, draw.Src)
	}
	if got, err := qr.Decode(seen); err != nil || got != link {
		t.Errorf("the code says %q, %v, want %q", got, err, link)
	}
}
