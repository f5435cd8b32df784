package tasks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/deskhand/deskhand/runtime/tasks"
)

func TestWhatWasViewedIsToldByItsContent(t *testing.T) {
	d := open(t, Repo{}, settings{})
	started := d.start("write a.txt one", "write b.txt two")
	d.ended(started.AttemptID)
	q := ReviewQuery{AttemptID: started.AttemptID}
	review := func() Review {
		t.Helper()
		r, err := d.Review(t.Context(), q)
		if err != nil || len(r.Files) != 2 {
			t.Fatalf("Review = %+v, %v", r, err)
		}
		return r
	}
	name := review().Files[0].Path
	if err := d.SetViewed(t.Context(), started.AttemptID, name, review().Marks[name]); err != nil {
		t.Fatal(err)
	}
	if r := review(); !r.Viewed[name] || r.Viewed[r.Files[1].Path] {
		t.Errorf("viewed = %v, want %s alone", r.Viewed, name)
	}
	a, err := d.Attempt(t.Context(), started.AttemptID)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(a.Dir, name), "other")
	if r := review(); r.Viewed[name] {
		t.Error("another content counts as viewed")
	}
	file, mark, ok, err := d.ReviewFile(t.Context(), q, name)
	if err != nil || !ok || string(file.New) != "other" || file.Old != nil || mark != review().Marks[name] || !strings.Contains(file.Patch, "+other") {
		t.Errorf("ReviewFile = %+v, %s, %v, %v", file, mark, ok, err)
	}
	if _, _, ok, err := d.ReviewFile(t.Context(), q, "../../etc/passwd"); ok || err != nil {
		t.Errorf("a path outside: %v, %v", ok, err)
	}
}

// A link's target is not shown as the content of a file in the attempt.
func TestAttackReviewReadsNothingOutside(t *testing.T) {
	d := open(t, Repo{}, settings{})
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "hunter2")
	started := d.start("run ln -s " + secret + " a.png")
	d.ended(started.AttemptID)
	q := ReviewQuery{AttemptID: started.AttemptID}
	r, err := d.Review(t.Context(), q)
	if err != nil || len(r.Files) != 1 {
		t.Fatalf("Review = %+v, %v", r, err)
	}
	file, _, ok, err := d.ReviewFile(t.Context(), q, r.Files[0].Path)
	if err != nil || !ok || file.New != nil || strings.Contains(file.Patch, "hunter2") {
		t.Errorf("ReviewFile = %q, %q, %v", file.New, file.Patch, err)
	}
}

func TestAnAttemptIsComparedWithOthers(t *testing.T) {
	d := openAs(t, settings{})
	one := d.start("write a.txt one")
	d.ended(one.AttemptID)
	two, err := d.Start(t.Context(), StartRequest{TaskID: one.TaskID, Executor: "fake", Prompt: "write b.txt two", Repos: []RepoTarget{{RepoID: d.repo.ID}}})
	if err != nil {
		t.Fatal(err)
	}
	d.ended(two.AttemptID)
	kinds := func(with string) (found string) {
		t.Helper()
		r, err := d.Review(t.Context(), ReviewQuery{AttemptID: two.AttemptID, With: with})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Files {
			found += f.Kind + " " + filepath.Base(f.Path) + ";"
		}
		return found
	}
	if got := kinds(one.AttemptID); got != "deleted a.txt;added b.txt;" {
		t.Errorf("against the other attempt: %s", got)
	}
	git(t, d.repo.Path, "commit", "-q", "--allow-empty", "-m", "move on")
	if err := os.WriteFile(filepath.Join(d.repo.Path, "later.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, d.repo.Path, "add", "later.txt")
	git(t, d.repo.Path, "commit", "-q", "-m", "later")
	if got := kinds(""); got != "added b.txt;" {
		t.Errorf("against the start: %s", got)
	}
	if got := kinds(AgainstTarget); got != "added b.txt;deleted later.txt;" {
		t.Errorf("against the target: %s", got)
	}
	strange := d.start("say hello")
	d.ended(strange.AttemptID)
	if _, err := d.Review(t.Context(), ReviewQuery{AttemptID: two.AttemptID, With: strange.AttemptID}); code(err) != NotFound {
		t.Errorf("against an attempt of another task: %v", err)
	}
}

func TestCommentsAreDraftsUntilTheyAreSent(t *testing.T) {
	d := open(t, Repo{}, settings{})
	started := d.start("write a.txt one")
	d.ended(started.AttemptID)
	c, err := d.PutComment(t.Context(), Comment{AttemptID: started.AttemptID, Path: "shop/a.txt", First: 1, Last: 1, Quote: "one", Body: "Why?"})
	if err != nil || c.ID == "" || c.Rev != 1 {
		t.Fatalf("PutComment = %+v, %v", c, err)
	}
	later := c
	later.Body = "Why one?"
	if later, err = d.PutComment(t.Context(), later); err != nil || later.Rev != 2 {
		t.Fatalf("PutComment = %+v, %v", later, err)
	}
	c.Body = "typed in another window"
	if now, err := d.PutComment(t.Context(), c); code(err) != Conflict || now.Body != "Why one?" || now.Rev != 2 {
		t.Errorf("a stale text: %+v, %v", now, err)
	}
	if err := d.SentComments(t.Context(), started.AttemptID, []Comment{c}); err != nil {
		t.Fatal(err)
	}
	found, err := d.Comments(t.Context(), started.AttemptID)
	if err != nil || len(found) != 1 || !found[0].Sent.IsZero() {
		t.Errorf("one that was changed since it was read counts as sent: %+v, %v", found, err)
	}
	if err := d.SentComments(t.Context(), started.AttemptID, found); err != nil {
		t.Fatal(err)
	}
	if _, err := d.PutComment(t.Context(), later); code(err) != Conflict {
		t.Errorf("a sent one can be changed: %v", err)
	}
	if err := d.DropComment(t.Context(), started.AttemptID, c.ID); err != nil {
		t.Fatal(err)
	}
	if found, err = d.Comments(t.Context(), started.AttemptID); err != nil || len(found) != 1 || found[0].Sent.IsZero() || found[0].Body != "Why one?" {
		t.Errorf("Comments = %+v, %v", found, err)
	}
	if err := d.DeleteTask(t.Context(), started.TaskID); err != nil {
		t.Fatal(err)
	}
	if found, err = d.Comments(t.Context(), started.AttemptID); err != nil || len(found) != 0 {
		t.Errorf("after its task was deleted: %+v, %v", found, err)
	}
}

func TestReviewListsAndComparesMoreThanTheGuardAllows(t *testing.T) {
	d := open(t, Repo{}, settings{})
	started := d.start("run seq 30000 > many.txt", "write few.txt one")
	d.ended(started.AttemptID)
	if c, err := d.Changes(t.Context(), started.AttemptID, false); err != nil || c.Blocked.Reason == "" {
		t.Errorf("Changes lists 30,000 lines for a model: %+v, %v", c.Blocked, err)
	}
	var asked []string
	r, err := d.Review(t.Context(), ReviewQuery{AttemptID: started.AttemptID, Show: func(c Change, viewed bool) bool {
		asked = append(asked, filepath.Base(c.Path))
		return c.Added < 100 && !viewed
	}})
	if err != nil || r.Blocked.Reason != "" || len(r.Files) != 2 || len(r.Marks) != 2 || strings.Join(asked, " ") != "few.txt many.txt" {
		t.Fatalf("Review = %+v, %v, asked about %v", r, err, asked)
	}
	if got := r.Diffs[r.Files[0].Path]; len(r.Diffs) != 1 || string(got.New) != "one\n" || !strings.Contains(got.Patch, "+one") {
		t.Errorf("Review compared %+v", r.Diffs)
	}
}
