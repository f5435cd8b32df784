package tasks_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/deskhand/deskhand/runtime/tasks"
)

// picture is the smallest file that counts as a PNG image, with a text that makes it
// unique.
func picture(text string) []byte { return []byte("\x89PNG\r\n\x1a\n" + text) }

func TestImagesReachTheAgentAsFiles(t *testing.T) {
	ctx := t.Context()
	d := open(t, Repo{}, settings{})
	i, err := d.PutImage(ctx, picture("a"))
	if err != nil || i.Type != "image/png" {
		t.Fatalf("PutImage = %+v, %v", i, err)
	}
	if again, err := d.PutImage(ctx, picture("a")); err != nil || again.Name != i.Name {
		t.Errorf("stored twice: %+v, %v", again, err)
	}
	if got, err := d.Image(ctx, i.Name); err != nil || string(got.Data) != string(picture("a")) || got.Type != "image/png" {
		t.Errorf("Image = %+v, %v", got, err)
	}
	_, err = d.PutImage(ctx, []byte("<svg onload='alert(1)'></svg>"))
	refused(t, "an image that is a page", err, InvalidArgument)
	_, err = d.PutImage(ctx, picture(strings.Repeat("x", MaxImage)))
	refused(t, "an image that is too big", err, InvalidArgument)
	_, err = d.Image(ctx, strings.Replace(i.Name, ".png", ".gif", 1))
	refused(t, "an image of another kind", err, NotFound)
	_, err = d.Image(ctx, "../../etc/passwd")
	refused(t, "a path", err, NotFound)

	missing := "![image](image:" + strings.Repeat("0", 64) + ".png)"
	s := d.ended(d.start("say ok "+i.Reference(), "say none "+missing).AttemptID)
	said := strings.Join(d.entries(s.ID, Normalized), "\n")
	if !strings.Contains(said, "ok [image 1: "+s.Dir) || !strings.Contains(said, "none [image missing]") || !strings.Contains(said, "an image is missing") {
		t.Errorf("the agent said:\n%s", said)
	}
	if data, err := os.ReadFile(filepath.Join(s.Dir, ".deskhand-images", i.Name)); err != nil || string(data) != string(picture("a")) {
		t.Errorf("the file has %q, %v", data, err)
	}
	if changes := d.changes(s.ID); len(changes) > 0 {
		t.Errorf("the image counts as work: %v", changes)
	}
}

// An agent can put links where images are written. They change no file elsewhere.
func TestAttackImagesReplaceLinks(t *testing.T) {
	d := open(t, Repo{}, settings{})
	i, err := d.PutImage(t.Context(), picture("new"))
	if err != nil {
		t.Fatal(err)
	}
	s := d.ended(d.start("say ok").AttemptID)
	for _, folder := range []string{"images", ".deskhand-images"} {
		for _, linked := range []string{"the folder", "the file"} {
			outside := t.TempDir()
			file := filepath.Join(outside, i.Name)
			link, target := filepath.Join(s.Dir, folder), outside
			if linked == "the file" {
				link, target = filepath.Join(link, i.Name), file
			}
			if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.RemoveAll(filepath.Join(s.Dir, folder)), os.MkdirAll(filepath.Dir(link), 0o700)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, link); err != nil {
				t.Skip("no symbolic links here: ", err)
			}
			if _, err := d.FollowUp(t.Context(), FollowUpRequest{AttemptID: s.ID, Action: Send, Prompt: "say ok " + i.Reference()}); err != nil {
				t.Fatal(err)
			}
			s = d.ended(s.ID)
			if now, err := os.ReadFile(file); err != nil || string(now) != "old" {
				t.Errorf("%s %s is a link: the file elsewhere has %q, %v", linked, folder, now, err)
			}
			if got, err := os.ReadFile(filepath.Join(s.Dir, ".deskhand-images", i.Name)); err != nil || string(got) != string(picture("new")) {
				t.Errorf("%s %s is a link: the image has %q, %v", linked, folder, got, err)
			}
		}
	}
}

func TestReferencesToImagesAreSplitOff(t *testing.T) {
	name := strings.Repeat("a", 64) + ".webp"
	text, names := SplitImages("See ![image](image:" + name + ")\n![image](image:../x.png) ![other](image:" + name + ")")
	if text != "See \n![image](image:../x.png) ![other](image:"+name+")" || len(names) != 1 || names[0] != name {
		t.Errorf("SplitImages = %q, %v", text, names)
	}
}

func TestMoreImagesThanAreSentAreRefused(t *testing.T) {
	m := peer(t, t.TempDir(), Options{MaxRunning: -1})
	p, r := project(t, m, Repo{})
	task, err := m.CreateTask(t.Context(), NewTask{ProjectID: p.ID, Title: "look"})
	if err != nil {
		t.Fatal(err)
	}
	image := Image{Name: strings.Repeat("0", 64) + ".png"}
	_, err = m.Start(t.Context(), StartRequest{TaskID: task.ID, Executor: "fake", Prompt: strings.Repeat(image.Reference(), MaxPromptImages+1), Repos: []RepoTarget{{RepoID: r.ID}}})
	refused(t, "a ninth image", err, InvalidArgument)
	_, err = m.FollowUp(t.Context(), FollowUpRequest{AttemptID: "01a20888-b25e-7093-9ea1-9af58f3d4b00", Action: Send, Prompt: strings.Repeat(image.Reference(), MaxPromptImages+1)})
	refused(t, "a ninth image in a message", err, InvalidArgument)
}
