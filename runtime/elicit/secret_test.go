package elicit

import (
	"strings"
	"testing"
)

func TestASecretIsNotAskedForInAForm(t *testing.T) {
	for text, want := range map[string]string{
		"What is your password?":                       "password",
		"Please enter the admin password for staging.": "password",
		"Password":          "password",
		"Your GitHub token": "github token",
		"I need the OpenAI API key to run the tests":           "api key",
		"Please provide your OPENAI_API_KEY":                   "api key",
		"**Paste** the `API key` here":                         "api key",
		"Paste the API key here":                               "api key",
		"Could you send me the credentials?":                   "credentials",
		"What's the card number and the expiry date?":          "card number",
		"We'll need a personal access token with repo scope":   "access token",
		"Enter the 6-digit verification code":                  "verification code",
		"To go on: enter your PIN":                             "pin",
		"The deploy failed. What is the database password?":    "password",
		"Give me the token":                                    "token",
		"What is your token?":                                  "token",
		"Choose a password for the first user":                 "password",
		"What are the AWS access key and secret access key?":   "secret access key",
		"Where is the API key kept?":                           "",
		"Which password hashing should we use?":                "",
		"What is the token limit?":                             "",
		"What is the password policy?":                         "",
		"What is the name of the variable with the API key?":   "",
		"How long should a session token live?":                "",
		"Should users need a password?":                        "",
		"Do I need an API key for this?":                       "",
		"Is the password in the vault?":                        "",
		"What should the lexer do with an unknown token?":      "",
		"Tell me where the credentials are":                    "",
		"Type of the token?":                                   "",
		"API key or OAuth?":                                    "",
		"Password reset: what should the mail say?":            "",
		"What is the secret of a good changelog?":              "",
		"Which file holds the private key?":                    "",
		"What should we call the password field?":              "",
		"Enter the path of the private key":                    "",
		"What would you like to name this function?":           "",
		"Enter the maximum number of tokens":                   "",
		"Have you set DB_PASSWORD in the environment?":         "",
		"What is the key to this?":                             "",
		"Tests need a token bucket. How big?":                  "",
		"Pin which version?":                                   "",
		"What header should carry the API key?":                "",
		"Anything else about the access token rotation?":       "",
		"Give an example of a valid token":                     "",
		"Your turn: what is wrong with this password checker?": "",
	} {
		r := Request{Trigger: AskUser, Questions: []Question{{Message: text}}}
		r, err := Prepare(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Questions[0].secret(); got != want {
			t.Errorf("%q asks for %q, want %q", text, got, want)
		}
	}
}

func TestOnlyWhatIsTypedCanBeASecret(t *testing.T) {
	value := Question{ID: "value", Kind: Text, Message: "Value?"}
	for name, c := range map[string]struct {
		request Request
		want    int // questions that request a secret
	}{
		"yes or no":                         {Request{Questions: []Question{{Kind: Boolean, Message: "Enter the password?"}}}, 0},
		"a choice":                          {Request{Questions: []Question{{Kind: SingleSelect, Message: "Password", Options: OptionsOf("rotate", "keep")}}}, 0},
		"a choice beside a text":            {Request{Message: "Set a password?", Questions: []Question{{Kind: SingleSelect, Message: "Set a password?"}, value}}, 0},
		"a number":                          {Request{Questions: []Question{{Kind: Integer, Message: "What is your PIN?"}}}, 1},
		"the name of a field":               {Request{Questions: []Question{{Kind: Text, Title: "API key", Message: "As in the console."}}}, 1},
		"under a title that wants it":       {Request{Title: "Enter your API key", Questions: []Question{value, value}}, 2},
		"under a message that wants it":     {Request{Message: "Please paste the token below.", Questions: []Question{value}}, 1},
		"under a title that names a matter": {Request{Title: "API keys", Questions: []Question{value}}, 0},
	} {
		if got := c.request.secrets(); len(got) != c.want {
			t.Errorf("%s: %+v, want %d", name, got, c.want)
		}
	}
}

func FuzzSecrets(f *testing.F) {
	for _, seed := range []string{"What is your password?", "", "enter api", "\xff the PIN", strings.Repeat("enter ", 100) + "pin"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := secretIn(text, true)
		if got != "" && secretIn("Enter the "+got, false) == "" {
			t.Errorf("%q is a secret of %q and not of an order for it", got, text)
		}
	})
}
