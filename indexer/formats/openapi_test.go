package formats

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const petStore = `openapi: 3.1.0
info:
  title: Pet Store
  version: 1.2.0
  description: |
    # Welcome
    Everything about pets.
servers:
  - url: https://pets.example.com/v1
    description: Production
tags:
  - name: Pets & Owners
    description: Animals, and who has them.
paths:
  /pets/{petId}:
    parameters:
      - $ref: '#/components/parameters/PetId'
    get:
      tags: [Pets & Owners]
      summary: Find a pet
      operationId: findPet
      parameters:
        - name: verbose
          in: query
          description: Say more.
          schema: {type: boolean, default: false}
      responses:
        '200':
          description: The pet
          content:
            application/json:
              schema:
                $ref: '#/components/schemas/Pet'
              example: {id: 7, name: Rex}
        '404':
          $ref: '#/components/responses/Missing'
    delete:
      deprecated: true
      responses: {'204': {description: gone}}
webhooks:
  petSold:
    post:
      summary: A pet was sold
      responses: {}
components:
  parameters:
    PetId: {name: petId, in: path, required: true, description: Number of the pet, schema: {type: integer, format: int64}}
  responses:
    Missing: {description: No such pet}
  schemas:
    Pet:
      type: object
      description: An animal.
      required: [id]
      properties:
        id: {type: integer, readOnly: true}
        name: {type: [string, 'null'], maxLength: 40}
        kind: {type: string, enum: [cat, dog]}
        parent: {$ref: '#/components/schemas/Pet'}
        friends: {type: array, items: {$ref: '#/components/schemas/Pet'}}
        owner:
          type: object
          properties:
            email: {type: string, format: email, description: Where to write to}
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key, description: Ask for one}
`

func TestOpenAPIHasAPageATag(t *testing.T) {
	texts, pages, r := converted(t, Options{}, map[string]string{"api/pets.yaml": petStore, "config.yaml": "a: 1\n", "package-lock.json": "{}", "old.json": `{"swagger": "2.0"}`, "not.yaml": "# openapi: 3.0\nx: 1\n"})
	if len(texts) != 5 || len(r.Problems) != 0 {
		t.Fatalf("pages %v, problems %v", len(texts), r.Problems)
	}
	contains(t, "overview", texts["api/pets.yaml/overview"], "# Pet Store", "Version 1.2.0", "**Welcome**", "Everything about pets.", "## Servers", "`https://pets.example.com/v1`: Production", "## Authentication", "`key` (apiKey header X-Key): Ask for one")
	pet := texts["api/pets.yaml/pets-owners"]
	contains(t, "pets-owners", pet, "# Pets & Owners - Pet Store", "Animals, and who has them.", "## GET /pets/{petId}: Find a pet", "Operation: `findPet`", "**Parameters**",
		"- `petId` (path, integer (int64), required): Number of the pet", "- `verbose` (query, boolean): Say more. Default `false`.",
		"**Response 200**: The pet", "`application/json`: Pet", "- `id` (integer, required, read only)", "- `name` (string or null): Maximum length `40`.", "- `kind` (string): One of `cat`, `dog`.",
		"- `parent` (Pet)", "- `friends` (array of Pet)", "- `owner` (object)", "  - `email` (string (email)): Where to write to", "```json\n{\n  \"id\": 7,\n  \"name\": \"Rex\"\n}\n```", "**Response 404**: No such pet")
	contains(t, "operations", texts["api/pets.yaml/operations"], "## DELETE /pets/{petId}", "**Deprecated.**", "`petId` (path", "**Response 204**: gone")
	contains(t, "webhooks", texts["api/pets.yaml/webhooks"], "## POST petSold: A pet was sold")
	contains(t, "schemas", texts["api/pets.yaml/schemas"], "## Pet", "An animal.", "- `id` (integer, required, read only)")
	source := strings.Split(petStore, "\n")
	at := map[string]string{"## GET": "get:", "- `petId`": "$ref", "- `verbose`": "name: verbose", "- `kind`": "kind:", "**Response 404**": "'404':"}
	for i, line := range strings.Split(pet, "\n") {
		for begin, want := range at {
			if strings.HasPrefix(line, begin) {
				if n := pages["api/pets.yaml/pets-owners"].Lines[i]; n == 0 || !strings.Contains(source[n-1], want) {
					t.Errorf("%q is said to be on line %d", line, n)
				}
				delete(at, begin)
			}
		}
	}
	if len(at) > 0 {
		t.Errorf("not found: %v", at)
	}
	if got := LeftOut(r.Left); got != "left out: 1 .json (Swagger 2 is not supported; convert it to OpenAPI 3)" {
		t.Error(got)
	}
}

func TestOpenAPIInJSON(t *testing.T) {
	texts, pages, r := converted(t, Options{}, map[string]string{"api.json": "{\n\"info\": {\"title\": \"Smile \\ud83d\\ude00\"},\n\"openapi\":\"3.0.1\",\n\"paths\": {\"/a\": {\"get\": {\"summary\": \"Get a\",\n\"responses\": {}}}}}"})
	contains(t, "overview", texts["api.json/overview"], "# Smile 😀")
	contains(t, "operations", texts["api.json/operations"], "## GET /a: Get a")
	if lines := pages["api.json/operations"].Lines; len(r.Problems) != 0 || lines[2] != 4 {
		t.Errorf("problems %v, lines %v", r.Problems, lines)
	}
	_, _, r = converted(t, Options{}, map[string]string{"api.json": "{\n\"openapi\":\"3.0.1\",\n\"paths\": {]}"})
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Reason, "line 3: it is not valid JSON") {
		t.Errorf("problems %v", r.Problems)
	}
}

// A description that refers to files and servers reads none of them.
func TestAttackFormatsReferencesAreNotFollowed(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	secret := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(secret, []byte("type: object\nproperties: {stolen: {type: string}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	texts, _, r := converted(t, Options{}, map[string]string{"api.yaml": `openapi: 3.0.0
paths:
  /a:
    get:
      parameters: [{$ref: '` + server.URL + `/p.yaml'}, {$ref: '#/nowhere'}, {$ref: '#/components/schemas/Loop'}]
      responses:
        '200': {description: x, content: {a/b: {schema: {$ref: 'file://` + secret + `'}}, c/d: {schema: {$ref: '` + secret + `'}}, e/f: {schema: {$ref: '#/components/schemas/Loop'}}}}
components: {schemas: {Loop: {$ref: '#/components/schemas/Loop'}}}
`})
	for name, text := range texts {
		lacks(t, name, text, "stolen")
	}
	if asked != 0 {
		t.Errorf("%d requests", asked)
	}
	if len(r.Problems) != 3 || r.Problems[0].Line != 5 || !strings.Contains(r.Problems[0].Reason, "is not followed") {
		t.Errorf("problems %v", r.Problems)
	}
}

// What a few lines could become is bounded.
func TestAttackFormatsBombs(t *testing.T) {
	laughs := "openapi: 3.0.0\nx0: &x0 {lol: lol}\n"
	for i := range 12 {
		laughs += fmt.Sprintf("x%d: &x%d {a: *x%d, b: *x%d, c: *x%d, d: *x%d, e: *x%d, f: *x%d, g: *x%d, h: *x%d}\n", i+1, i+1, i, i, i, i, i, i, i, i)
	}
	laughs += "paths: {/a: {get: {responses: {'200': {description: x, content: {a/b: {example: *x12}}}}}}}\n"

	refs := "openapi: 3.0.0\npaths: {/a: {get: {responses: {'200': {description: x, content: {a/b: {schema: {$ref: '#/components/schemas/S12'}}}}}}}}\ncomponents:\n  schemas:\n    S0: {type: object, properties: {lol: {type: string}}}\n"
	for i := range 12 {
		refs += fmt.Sprintf("    S%d: {allOf: [%s{$ref: '#/components/schemas/S%d'}]}\n", i+1, strings.Repeat(fmt.Sprintf("{$ref: '#/components/schemas/S%d'}, ", i), 20), i)
	}
	texts, _, r := converted(t, Options{}, map[string]string{
		"laughs.yaml": laughs, "refs.yaml": refs,
		"self.yaml":  "openapi: 3.0.0\npaths: {/a: {get: {responses: {'200': {content: {a/b: {example: &e [*e, *e], schema: &s {properties: {s: *s, t: *s}, oneOf: [*s, *s]}}}}}}}}\n",
		"deep.json":  `{"openapi": "3.0.0", "a": ` + strings.Repeat("[", 100_000),
		"deep.yaml":  "openapi: 3.0.0\na: " + strings.Repeat("[", 100_000),
		"wide.yaml":  "openapi: 3.0.0\na: [" + strings.Repeat("a,", 1_200_000) + "]",
		"named.json": `{"openapi": "3.0.0", "a": [` + strings.Repeat("1,", 1_200_000) + "1]}",
	})
	total := 0
	for _, text := range texts {
		total += len(text)
	}
	if total > 1<<20 {
		t.Errorf("pages of %d bytes", total)
	}
	failed := map[string]string{}
	for _, p := range r.Problems {
		failed[p.File] = p.Reason
	}
	for _, name := range []string{"deep.json", "deep.yaml", "wide.yaml", "named.json"} {
		if failed[name] == "" {
			t.Errorf("%s is taken", name)
		}
	}
	if texts["laughs.yaml/operations"] == "" || texts["self.yaml/operations"] == "" {
		t.Errorf("what is bounded is not shown: %v", r.Problems)
	}
}

// Tags with one name each, all of which become the same file name, take no time that grows
// with the square of their number.
func TestAttackFormatsTags(t *testing.T) {
	var src strings.Builder
	src.WriteString("openapi: 3.0.0\npaths:\n")
	const tags = 40_000
	for i := range tags {
		tag := strings.NewReplacer("0", "!", "1", "?").Replace(fmt.Sprintf("%016b", i))
		fmt.Fprintf(&src, "  /%d: {get: {tags: ['a%s']}}\n", i, tag)
	}
	start := time.Now()
	texts, _, _ := converted(t, Options{}, map[string]string{"tags.yaml": src.String()})
	if took := time.Since(start); took > time.Minute {
		t.Errorf("%d tags took %v", tags, took)
	}
	if texts["tags.yaml/a"] == "" || texts["tags.yaml/a-2"] == "" {
		t.Errorf("%d pages", len(texts))
	}
}

// A description may consist of many files of one folder. Pages have the lines of the
// description only.
func TestOpenAPIInSeveralFiles(t *testing.T) {
	texts, pages, r := converted(t, Options{}, map[string]string{
		"api/v2.yaml":                 "openapi: 3.0.0\ninfo: {title: Shop}\npaths:\n  /orders:\n    post:\n      $ref: 'orders/create.yml'\n  /bad:\n    get:\n      responses: {'200': {$ref: '../../secret.yaml'}, '201': {$ref: missing.yml}}\n",
		"api/orders/create.yml":       "tags: [Orders]\nsummary: Create an order\nrequestBody:\n  content:\n    application/json:\n      schema: {$ref: models/order.yml}\nresponses:\n  '201': {$ref: '../shared.yml#/responses/created'}\n",
		"api/orders/models/order.yml": "type: object\nproperties:\n  size: {$ref: '#/$defs/size'}\n  parent: {$ref: order.yml}\n$defs: {size: {type: integer, description: Number of items}}\n",
		"api/shared.yml":              "responses: {created: {description: The order is made, content: {application/json: {schema: {$ref: 'orders/models/order.yml#/$defs/size'}}}}}\n",
	})
	contains(t, "orders", texts["api/v2.yaml/orders"], "## POST /orders: Create an order", "`application/json`: order", "- `size` (size): Number of items", "- `parent` (order)", "**Response 201**: The order is made", "`application/json`: size")
	if len(texts) != 3 {
		t.Errorf("%d pages", len(texts))
	}
	for i, line := range strings.Split(texts["api/v2.yaml/orders"], "\n") {
		if n := pages["api/v2.yaml/orders"].Lines[min(i, len(pages["api/v2.yaml/orders"].Lines)-1)]; n != 0 && n != 5 {
			t.Errorf("%q is said to be on line %d", line, n)
		}
	}
	if got := fmt.Sprint(r.Problems); len(r.Problems) != 2 || !strings.Contains(got, "{api/v2.yaml 9 $ref to '../../secret.yaml' is not followed: there is no such file in the docs}") || !strings.Contains(got, "'missing.yml' is not followed") {
		t.Error(got)
	}
}

// The operations of a large description without tags, whose schemas contain each other, all
// have sections.
func TestOpenAPIKeepsAllOperations(t *testing.T) {
	var src strings.Builder
	src.WriteString("openapi: 3.0.0\npaths:\n")
	const operations = 60
	for i := range operations {
		fmt.Fprintf(&src, "  /p%d: {get: {responses: {'200': {content: {application/json: {schema: {$ref: '#/components/schemas/S%d'}}}}}}}\n", i, i%30)
	}
	src.WriteString("components:\n  schemas:\n")
	for i := range 30 {
		fmt.Fprintf(&src, "    S%d:\n      properties:\n", i)
		for j := range 25 {
			fmt.Fprintf(&src, "        f%d: {allOf: [{$ref: '#/components/schemas/S%d'}], description: '%s'}\n", j, (i+j+1)%30, strings.Repeat("words ", 160))
		}
	}
	texts, _, r := converted(t, Options{}, map[string]string{"api.yaml": src.String()})
	text := texts["api.yaml/operations"]
	if n := strings.Count(text, "\n## GET /p"); n != operations || len(r.Problems) > 0 {
		t.Errorf("%d operations in %d bytes, problems %v", n, len(text), r.Problems)
	}
	contains(t, "operations", text, "- `f24` (S25): words")
}

func TestOpenAPIPointersParametersAndCallbacks(t *testing.T) {
	texts, _, r := converted(t, Options{}, map[string]string{"api.yaml": `openapi: 3.0.0
paths:
  /a/{id}:
    parameters:
      - {name: id, in: path, description: that of the path}
      - {name: page, in: query, description: which page}
    get:
      parameters:
        - {name: id, in: path, description: that of the operation}
      responses: {'200': {description: ok}}
    post:
      parameters: [{$ref: '#/paths/~1a~1%7Bid%7D/get/parameters/0'}]
      callbacks:
        finished:
          '{$request.query.url}': {post: {summary: Called at the end, responses: {'204': {description: thanks}}}}
`})
	text := texts["api.yaml/operations"]
	contains(t, "operations", text, "- `page` (query): which page", "- `id` (path): that of the operation", "## Callback finished: POST {$request.query.url}: Called at the end", "**Response 204**: thanks")
	lacks(t, "operations", text, "that of the path")
	if n := strings.Count(text, "that of the operation"); n != 2 || len(r.Problems) > 0 {
		t.Errorf("%d parameters in %s, problems %v", n, text, r.Problems)
	}
}

// Files that contain only a reference to a file with all paths, or schemas, are common.
func TestOpenAPIPathsAndSchemasInFilesOfTheirOwn(t *testing.T) {
	texts, _, r := converted(t, Options{}, map[string]string{
		"api.yaml":           "openapi: 3.1.0\ninfo: {$ref: info.json}\ntags: [{$ref: 'tags.yaml#/0'}]\npaths: {$ref: paths.yaml}\ncomponents: {schemas: {$ref: schemas/index.yaml}}\n",
		"info.json":          `{"title": "Shop", "version": "2", "description": {"$ref": "intro.yaml"}}`,
		"intro.yaml":         "Sells everything.\n",
		"tags.yaml":          "- {name: Orders, description: What people buy}\n",
		"paths.yaml":         "/orders: {get: {tags: [Orders], responses: {'200': {content: {application/json: {schema: {$ref: 'api.yaml#/components/schemas/Order'}}}}}}}\n",
		"schemas/index.yaml": "Order: {$ref: order.yaml}\n",
		"schemas/order.yaml": "properties: {size: {type: integer}, self: {$ref: '#'}}\n",
	})
	contains(t, "overview", texts["api.yaml/overview"], "# Shop", "Version 2", "Sells everything.")
	contains(t, "orders", texts["api.yaml/orders"], "# Orders - Shop", "What people buy", "`application/json`: Order", "- `size` (integer)")
	contains(t, "schemas", texts["api.yaml/schemas"], "## Order", "- `self` (order)")
	if len(r.Problems) > 0 {
		t.Error(r.Problems)
	}
}

// A callback whose operation has the same callback does not repeat itself.
func TestAttackFormatsCallbacksOfCallbacks(t *testing.T) {
	texts, _, r := converted(t, Options{}, map[string]string{"api.yaml": `openapi: 3.0.0
paths:
  /a: {post: {summary: Start, callbacks: {again: {$ref: '#/components/callbacks/again'}}}}
components:
  callbacks:
    again: {'{$url}': {post: {summary: Called, callbacks: {again: {$ref: '#/components/callbacks/again'}}}}}
`})
	if n := strings.Count(texts["api.yaml/operations"], "## "); n != 2 || len(r.Problems) > 0 {
		t.Errorf("%d sections, problems %v", n, r.Problems)
	}
}

func TestOpenAPIAuthenticationInParagraphs(t *testing.T) {
	texts, _, _ := converted(t, Options{}, map[string]string{"api.yaml": `openapi: 3.0.0
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key, description: From the console}
    token:
      type: http
      scheme: bearer
      description: |
        ## Tokens

        Ask for one:

            curl example.org/token
    none: {type: http, scheme: basic}
`})
	contains(t, "overview", texts["api.yaml/overview"], "- `key` (apiKey header X-Key): From the console\n\n`token` (http bearer):\n\n**Tokens**\n\nAsk for one:\n\n    curl example.org/token\n\n- `none` (http basic)\n")
}

// References that lead through each other end.
func TestAttackFormatsPointersThroughReferences(t *testing.T) {
	var src strings.Builder
	src.WriteString("openapi: 3.0.0\npaths: {/a: {get: {responses: {'200': {$ref: '#/x0/y'}, '201': {$ref: '#/self/y'}}}}}\nself: {$ref: '#/self/y'}\n")
	for i := range 5000 {
		fmt.Fprintf(&src, "x%d: {$ref: '#/x%d/y'}\n", i, i+1)
	}
	texts, _, r := converted(t, Options{}, map[string]string{"long.yaml": src.String(), "self.yaml": strings.ReplaceAll(src.String(), "#/x0/y", "#/self/z")})
	contains(t, "self", texts["self.yaml/operations"], "## GET /a")
	if got := fmt.Sprint(r.Problems); !strings.Contains(got, "{long.yaml 0 skipped: converting it failed: its references expand to too much text}") || len(r.Problems) != 1 {
		t.Error(got)
	}
}

// A description reads no more than its limit, and the same files each time.
func TestAttackFormatsReferredFiles(t *testing.T) {
	large := "a: {description: " + strings.Repeat("x", maxAPI/3) + "}\n"
	_, _, r := converted(t, Options{}, map[string]string{
		"api.yaml":   "openapi: 3.0.0\npaths: {/a: {get: {responses: {'200': {$ref: 'one.yaml#/a'}, '201': {$ref: 'two.yaml#/a'}, '202': {$ref: 'three.yaml#/a'}}}}}\n",
		"one.yaml":   large,
		"two.yaml":   large,
		"three.yaml": large,
	})
	if len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0].Reason, "$ref to 'three.yaml#/a' is not followed: with the files that it refers to, the description is larger than 16 MB") {
		t.Errorf("problems %v", r.Problems)
	}
}
