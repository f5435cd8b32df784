package diff

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// language describes what has a colour in the files of a language.
type language struct {
	// names are the words after the fence of a Markdown code block, and files are the
	// files' names or, with a dot, endings. Both are in lower case and separated by spaces.
	names, files string
	comments     []string    // each begins a comment that ends with the line
	blocks       [][2]string // comments that may have several lines
	quotes       string      // begin a string that ends in its line; a backslash escapes
	texts        [][2]string // strings that may have several lines, without escapes
	templates    string      // quotes of strings that may have several lines, with escapes
	char         bool        // ' begins one character, and is otherwise part of a name
	patterns     bool        // /text/ may be a regular expression
	letters      string      // characters of names beside letters, digits and _
	keywords     string
	builtins     string
	declare      string // keywords before the name of what they declare
	anyCase      bool   // keywords are written in upper or lower case
	keys         string // a name before one of these characters is a key
	decorators   bool   // @name before a declaration
	markup       bool   // tags with attributes, and nothing else

	once  sync.Once
	found map[string]string // class of each keyword and builtin, after once
}

// classes returns the class of each keyword and builtin.
func (l *language) classes() map[string]string {
	l.once.Do(func() {
		l.found = map[string]string{}
		for class, words := range map[string]string{"k": l.keywords, "b": l.builtins} {
			for w := range strings.FieldsSeq(words) {
				if l.found[w] != "k" {
					l.found[w] = class
				}
			}
		}
	})
	return l.found
}

// Comments and keywords that several languages share.
var (
	slashes = [][2]string{{"/*", "*/"}}
	triples = [][2]string{{`"""`, `"""`}, {`'''`, `'''`}}
	angles  = [][2]string{{"<!--", "-->"}}
)

const (
	cWords = "break case const continue default do else enum extern for goto if inline register return sizeof static struct " +
		"switch typedef union volatile while"
	cTypes  = "bool char double float int long short signed size_t unsigned void true false NULL nullptr"
	jsWords = "as async await break case catch class const continue debugger default delete do else export extends finally for " +
		"from function get if import in instanceof let new of return set static super switch this throw try typeof var void while with yield"
	jsValues = "true false null undefined NaN Infinity Array Boolean Date Error JSON Map Math Number Object Promise Proxy RegExp Set String " +
		"Symbol console document globalThis module process require window"
	shellWords = "case do done elif else esac fi for function if in select then time until while export local readonly return " +
		"declare set unset shift source trap exit eval exec"
	shellCommands = "alias bg cd echo false fg getopts hash jobs kill printf pwd read test true type ulimit umask wait"
)

// known lists the languages. There are further languages whose files look the same, for
// example those of build tools; their files are listed with them.
var known = []*language{
	{names: "go golang", files: ".go", comments: []string{"//"}, blocks: slashes, quotes: `"'`, texts: [][2]string{{"`", "`"}}, declare: "func type package",
		keywords: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var",
		builtins: "any append bool byte cap clear close comparable complex complex64 complex128 copy delete error false float32 float64 imag int int8 int16 int32 int64 iota len " +
			"make max min new nil panic print println real recover rune string true uint uint8 uint16 uint32 uint64 uintptr"},
	{names: "gomod go.mod", files: "go.mod go.work", comments: []string{"//"}, quotes: `"`, keywords: "module go require replace exclude retract toolchain use tool ignore"},
	{names: "javascript js jsx mjs cjs node", files: ".js .jsx .mjs .cjs", comments: []string{"//", "#!"}, blocks: slashes, quotes: `"'`, templates: "`", patterns: true,
		letters: "$", decorators: true, declare: "function class", keywords: jsWords, builtins: jsValues},
	{names: "typescript ts tsx", files: ".ts .tsx .mts .cts", comments: []string{"//"}, blocks: slashes, quotes: `"'`, templates: "`", patterns: true, letters: "$", decorators: true,
		declare: "function class interface type enum namespace", keywords: jsWords + " abstract asserts declare enum implements infer interface is keyof namespace override private protected public readonly satisfies type unique",
		builtins: jsValues + " any bigint boolean never number object string symbol unknown Record Partial Readonly"},
	{names: "python py python3 py3 starlark bazel", files: ".py .pyi .pyw .bzl .star build.bazel workspace sconstruct", comments: []string{"#"}, quotes: `"'`, texts: triples, decorators: true, declare: "def class",
		keywords: "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield",
		builtins: "False None True abs all any bool bytes callable chr dict dir enumerate filter float format frozenset getattr hasattr hash id input int isinstance issubclass iter len list map max min next " +
			"object open ord pow print property range repr reversed round self set setattr slice sorted staticmethod str sum super tuple type vars zip cls"},
	{names: "ruby rb", files: ".rb .rake .gemspec gemfile rakefile vagrantfile podfile fastfile", comments: []string{"#"}, blocks: [][2]string{{"\n=begin", "\n=end"}}, quotes: `"'` + "`", patterns: true, letters: "?!@$", declare: "def class module",
		keywords: "alias and begin break case class def defined? do else elsif end ensure extend for if in include module next not or private protected public redo require require_relative rescue retry return super then undef unless until when while yield",
		builtins: "true false nil self attr_accessor attr_reader attr_writer puts print raise lambda proc"},
	{names: "rust rs", files: ".rs", comments: []string{"//"}, blocks: slashes, templates: `"`, texts: [][2]string{{`r#"`, `"#`}, {`r##"`, `"##`}}, char: true, letters: "!", declare: "fn struct enum trait mod type union",
		keywords: "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait type union unsafe use where while",
		builtins: "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize true false Box Err None Ok Option Result Some String Vec assert! assert_eq! format! panic! print! println! vec! write! writeln!"},
	{names: "java", files: ".java", comments: []string{"//"}, blocks: slashes, quotes: `"'`, texts: [][2]string{{`"""`, `"""`}}, decorators: true, declare: "class interface enum record",
		keywords: "abstract assert break case catch class continue default do else enum extends final finally for if implements import instanceof interface native new non-sealed package permits private protected " +
			"public record return sealed static strictfp super switch synchronized this throw throws transient try var volatile while yield",
		builtins: "boolean byte char double float int long short void true false null String Object Integer Long Boolean List Map Set Optional"},
	{names: "kotlin kt kts", files: ".kt .kts", comments: []string{"//"}, blocks: slashes, quotes: `"'`, texts: [][2]string{{`"""`, `"""`}}, decorators: true, declare: "fun class interface object",
		keywords: "abstract actual annotation as break by catch class companion const constructor continue crossinline data do else enum expect external final finally for fun if import in infix init inline inner interface internal is lateinit noinline " +
			"object open operator out override package private protected public reified return sealed suspend super tailrec this throw try typealias val var vararg when where while",
		builtins: "Any Boolean Byte Char Double Float Int List Long Map Nothing Set Short String Unit true false null it"},
	{names: "scala sc", files: ".scala .sc .sbt", comments: []string{"//"}, blocks: slashes, quotes: `"`, texts: [][2]string{{`"""`, `"""`}}, char: true, decorators: true, declare: "def class object trait type enum",
		keywords: "abstract case catch class def do else enum extends export final finally for given if implicit import lazy match new object override package private protected return sealed super then this throw trait try type using val var while with yield",
		builtins: "Any Boolean Double Int List Long Map None Nothing Option Seq Set Some String Unit true false null"},
	{names: "groovy gradle jenkinsfile", files: ".groovy .gradle jenkinsfile", comments: []string{"//"}, blocks: slashes, quotes: `"'`, texts: triples, decorators: true, declare: "class interface enum def",
		keywords: "abstract as assert break case catch class continue def default do else enum extends final finally for if implements import in instanceof interface new package private protected public return static super switch this throw throws trait try while",
		builtins: "boolean int long String void true false null println"},
	{names: "c h", files: ".c .h", comments: []string{"//"}, blocks: slashes, quotes: `"'`, letters: "#", declare: "struct enum union", keywords: cWords + " #define #elif #else #endif #error #if #ifdef #ifndef #include #pragma #undef", builtins: cTypes},
	{names: "cpp c++ cc cxx hpp cuda", files: ".cpp .cc .cxx .c++ .hpp .hh .hxx .h++ .ino .cu .cuh", comments: []string{"//"}, blocks: slashes, quotes: `"'`, texts: [][2]string{{`R"(`, `)"`}}, letters: "#", declare: "struct enum union class namespace concept",
		keywords: cWords + " #define #elif #else #endif #error #if #ifdef #ifndef #include #pragma #undef alignas and auto catch class co_await co_return co_yield concept consteval constexpr constinit decltype delete explicit export final friend import module mutable namespace " +
			"new noexcept not operator or override private protected public requires static_assert static_cast dynamic_cast reinterpret_cast template this throw try typename using virtual",
		builtins: cTypes + " std string vector wchar_t"},
	{names: "objective-c objectivec objc", files: ".m .mm", comments: []string{"//"}, blocks: slashes, quotes: `"'`, letters: "#@", keywords: cWords + " #import #include #define #if #endif @class @end @implementation @import @interface @property @protocol @selector @synthesize @try @catch self super", builtins: cTypes + " BOOL YES NO id nil NSString"},
	{names: "csharp c# cs", files: ".cs .csx", comments: []string{"//"}, blocks: slashes, quotes: `"'`, texts: [][2]string{{`"""`, `"""`}, {`@"`, `"`}}, letters: "#", declare: "class interface struct enum record namespace",
		keywords: "abstract as async await base break case catch checked class const continue default delegate do else enum event explicit extern finally fixed for foreach get goto if implicit in init interface internal is lock namespace new operator out " +
			"override params partial private protected public readonly record ref required return sealed set sizeof stackalloc static struct switch this throw try typeof unchecked unsafe using var virtual volatile when where while with yield #if #else #endif #region #endregion #nullable",
		builtins: "bool byte char decimal double dynamic float int long nint nuint object sbyte short string uint ulong ushort void true false null Task List Dictionary Console"},
	{names: "swift", files: ".swift", comments: []string{"//"}, blocks: slashes, quotes: `"`, texts: [][2]string{{`"""`, `"""`}}, letters: "#", decorators: true, declare: "func class struct enum protocol extension actor typealias",
		keywords: "actor any as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough fileprivate final for func guard if import in indirect init inout internal is lazy let mutating nonisolated open operator " +
			"override private protocol public repeat rethrows return self Self some static struct subscript super switch throw throws try typealias unowned var weak where while #if #else #endif #available",
		builtins: "Any Array Bool Character Dictionary Double Float Int Optional Set String UInt Void true false nil print"},
	{names: "dart", files: ".dart", comments: []string{"//"}, blocks: slashes, quotes: `"'`, texts: triples, letters: "$", decorators: true, declare: "class enum mixin extension typedef",
		keywords: "abstract as assert async await base break case catch class const continue covariant default deferred do else enum export extends extension external factory final finally for get hide if implements import in interface is late library mixin new of on operator part " +
			"required rethrow return sealed set show static super switch sync this throw try typedef var when while with yield",
		builtins: "bool double dynamic int num void String List Map Set Future Stream true false null print"},
	{names: "php", files: ".php .phtml", comments: []string{"//", "#"}, blocks: slashes, templates: `"'`, letters: "$", declare: "function class interface trait enum namespace",
		keywords: "abstract and as break case catch class clone const continue declare default do echo else elseif empty enum extends final finally fn for foreach function global goto if implements include include_once instanceof insteadof interface isset list match " +
			"namespace new or print private protected public readonly require require_once return static switch throw trait try unset use var while xor yield php",
		builtins: "array bool callable float int iterable mixed null object parent self string void true false $this"},
	{names: "perl pl", files: ".pl .pm .t", comments: []string{"#"}, blocks: [][2]string{{"\n=pod", "\n=cut"}, {"\n=head1", "\n=cut"}}, quotes: `"'` + "`", patterns: true, letters: "$@%", declare: "sub package",
		keywords: "and cmp do else elsif eq for foreach ge gt if last le lt my ne next no not or our package redo require return sub unless until use while x", builtins: "print printf push pop shift keys values defined die warn open close join split map grep sort"},
	{names: "bash sh shell zsh fish console ksh", files: ".sh .bash .zsh .fish .ksh .bashrc .zshrc .profile .bash_profile configure pkgbuild", comments: []string{"#"}, templates: `"`, texts: [][2]string{{"'", "'"}}, letters: "-", declare: "function", keywords: shellWords, builtins: shellCommands},
	{names: "powershell ps1 pwsh", files: ".ps1 .psm1 .psd1", comments: []string{"#"}, blocks: [][2]string{{"<#", "#>"}}, quotes: `"'`, texts: [][2]string{{`@"`, `"@`}, {`@'`, `'@`}}, letters: "-$", anyCase: true, declare: "function class",
		keywords: "begin break catch class continue data do dynamicparam else elseif end enum exit filter finally for foreach from function if in param process return switch throw trap try until using while",
		builtins: "$true $false $null $_ $args $error $home $host $pid -eq -ne -gt -lt -ge -le -like -match -and -or -not"},
	{names: "batch bat cmd", files: ".bat .cmd", comments: []string{"rem ", "REM ", "::"}, quotes: `"`, anyCase: true, keywords: "call do echo else exit for goto if in not pause set setlocal endlocal shift start exist defined"},
	{names: "lua", files: ".lua", comments: []string{"--"}, blocks: [][2]string{{"--[[", "]]"}}, quotes: `"'`, texts: [][2]string{{"[[", "]]"}}, declare: "function",
		keywords: "and break do else elseif end for function goto if in local not or repeat return then until while", builtins: "true false nil self print pairs ipairs require string table math"},
	{names: "r", files: ".r .rprofile", comments: []string{"#"}, quotes: `"'`, letters: ".", keywords: "break else for function if in next repeat return while library", builtins: "TRUE FALSE NULL NA NaN Inf c list data.frame print"},
	{names: "julia jl", files: ".jl", comments: []string{"#"}, blocks: [][2]string{{"#=", "=#"}}, quotes: `"`, texts: [][2]string{{`"""`, `"""`}}, char: true, letters: "!@", declare: "function struct module macro",
		keywords: "abstract baremodule begin break catch const continue do else elseif end export finally for function global if import in let local macro module mutable primitive quote return struct try type using where while", builtins: "true false nothing missing Int Float64 String Bool println"},
	{names: "haskell hs", files: ".hs", comments: []string{"--"}, blocks: [][2]string{{"{-", "-}"}}, quotes: `"`, char: true, declare: "data newtype class type module",
		keywords: "case class data default deriving do else forall foreign if import in infix infixl infixr instance let module newtype of qualified then type where", builtins: "True False Nothing Just Left Right Maybe Either IO Int Integer String Bool"},
	{names: "elm", files: ".elm", comments: []string{"--"}, blocks: [][2]string{{"{-", "-}"}}, quotes: `"`, texts: [][2]string{{`"""`, `"""`}}, char: true, keywords: "as case else exposing if import in let module of port then type alias", builtins: "True False Nothing Just"},
	{names: "ocaml ml fsharp f# fs", files: ".ml .mli .fs .fsi .fsx", comments: []string{"//"}, blocks: [][2]string{{"(*", "*)"}}, quotes: `"`, texts: [][2]string{{`"""`, `"""`}}, char: true, declare: "type module let",
		keywords: "and as assert async begin class do done downto else end exception external for fun function functor if in include inherit initializer lazy let match member method module mutable namespace new object of open or override private rec sig static struct then to try type use val virtual when while with yield", builtins: "true false None Some Ok Error int string bool unit list"},
	{names: "elixir ex exs", files: ".ex .exs", comments: []string{"#"}, quotes: `"'`, texts: triples, letters: "?!@", declare: "def defp defmodule defmacro",
		keywords: "after alias and case catch cond def defimpl defmacro defmodule defp defprotocol defstruct do else end fn for if import in not or quote raise receive require rescue try unless unquote use when with", builtins: "true false nil self"},
	{names: "erlang erl", files: ".erl .hrl", comments: []string{"%"}, quotes: `"'`, keywords: "after and andalso band begin case catch cond div end fun if let maybe not of or orelse receive rem try when xor", builtins: "true false ok error undefined"},
	{names: "clojure clj lisp scheme elisp racket", files: ".clj .cljs .cljc .edn .lisp .el .scm .rkt", comments: []string{";"}, templates: `"`, letters: "-!?*+<>=/:.", declare: "defn def defmacro defun define ns",
		keywords: "and case cond def define defmacro defmethod defmulti defn defprotocol defrecord defun do doseq fn for if if-let import lambda let letfn loop ns or recur require setq when when-let", builtins: "true false nil t first rest map filter reduce conj assoc"},
	{names: "zig", files: ".zig .zon", comments: []string{"//"}, quotes: `"'`, letters: "@", declare: "fn",
		keywords: "addrspace align allowzero and anytype asm async await break callconv catch comptime const continue defer else enum errdefer error export extern fn for if inline noalias opaque or orelse packed pub resume return struct suspend switch test threadlocal try union unreachable usingnamespace var volatile while",
		builtins: "bool f32 f64 i32 i64 u8 u16 u32 u64 usize isize void true false null undefined @import"},
	{names: "nim", files: ".nim .nims", comments: []string{"#"}, blocks: [][2]string{{"#[", "]#"}}, quotes: `"'`, texts: [][2]string{{`"""`, `"""`}}, declare: "proc func type method template macro iterator",
		keywords: "and as asm block break case cast const continue converter defer discard distinct do elif else end enum except export finally for from func if import in include is isnot iterator let macro method mixin not object of or out proc ptr raise ref return shl shr static template try tuple type using var when while yield",
		builtins: "true false nil int string bool float seq echo"},
	{names: "solidity sol", files: ".sol", comments: []string{"//"}, blocks: slashes, quotes: `"'`, declare: "contract function event struct interface library modifier enum",
		keywords: "abstract as assembly break calldata case catch constructor continue contract default delete do else emit enum event external for from function if immutable import indexed interface internal is library mapping memory modifier new override payable pragma private public pure return returns storage struct switch try unchecked using view virtual while",
		builtins: "address bool bytes bytes32 int string uint uint256 true false msg block"},
	{names: "sql postgresql postgres mysql sqlite plsql tsql psql", files: ".sql .ddl .dml", comments: []string{"--"}, blocks: slashes, quotes: `"`, texts: [][2]string{{"'", "'"}, {"$$", "$$"}}, anyCase: true,
		keywords: "add all alter and any as asc begin between by case cascade check column commit conflict constraint create cross database default delete desc distinct do drop else end except exists explain fetch filter for foreign from full function grant group having if in index inner insert intersect into is join key lateral left like limit lock not null nulls of offset on or order outer over partition primary procedure references rename replace returning returns revoke right rollback row rows schema select sequence set table temporary then to transaction trigger truncate union unique update using values view when where window with",
		builtins: "bigint bigserial blob boolean bytea char coalesce count date decimal double float int integer json jsonb max min now numeric real serial smallint sum text time timestamp timestamptz uuid varchar true false avg"},
	{names: "html xhtml vue svelte astro", files: ".html .htm .xhtml .vue .svelte .astro .tmpl .gohtml .hbs .ejs .jinja .j2", blocks: angles, markup: true},
	{names: "xml svg xsd xsl plist", files: ".xml .svg .xsd .xsl .xslt .plist .csproj .fsproj .vbproj .props .targets .xaml .wsdl .rss .storyboard .nuspec", blocks: angles, markup: true},
	{names: "css scss sass less", files: ".css .scss .less .sass", comments: []string{"//"}, blocks: slashes, quotes: `"'`, letters: "-@", keys: ":", keywords: "@apply @charset @container @each @else @font-face @for @function @if @import @include @keyframes @layer @media @mixin @page @return @supports @tailwind @use", builtins: "auto inherit initial none unset var calc rgb rgba hsl url"},
	{names: "json jsonc json5 geojson", files: ".json .jsonc .json5 .geojson .webmanifest .ipynb .code-workspace .avsc .har .map .babelrc .eslintrc .prettierrc", comments: []string{"//"}, blocks: slashes, quotes: `"'`, keys: ":", keywords: "true false null"},
	{names: "yaml yml", files: ".yaml .yml .clang-format .clangd", comments: []string{"#"}, templates: `"`, texts: [][2]string{{"'", "'"}}, letters: "-./", keys: ":", keywords: "true false null yes no on off"},
	{names: "toml", files: ".toml cargo.lock poetry.lock pdm.lock uv.lock", comments: []string{"#"}, quotes: `"'`, texts: triples, letters: "-.", keys: "=", keywords: "true false inf nan"},
	{names: "ini cfg conf properties dotenv env editorconfig systemd desktop gitconfig", files: ".ini .cfg .conf .properties .env .editorconfig .service .socket .timer .desktop .gitconfig .npmrc .gitmodules", comments: []string{"#", ";"}, quotes: `"`, letters: "-.", keys: "=:", keywords: "true false yes no on off"},
	{names: "gitignore", files: ".gitignore .dockerignore .npmignore .gitattributes codeowners", comments: []string{"#"}},
	{names: "dockerfile docker containerfile", files: ".dockerfile dockerfile containerfile", comments: []string{"#"}, quotes: `"'`, letters: "-", anyCase: true, keywords: "add arg as cmd copy entrypoint env expose from healthcheck label maintainer onbuild run shell stopsignal user volume workdir"},
	{names: "make makefile mk", files: ".mk .make makefile gnumakefile justfile", comments: []string{"#"}, quotes: `"'`, letters: "-.", keys: ":=?+", keywords: "define else endef endif export ifdef ifeq ifndef ifneq include override private unexport vpath"},
	{names: "cmake", files: ".cmake cmakelists.txt", comments: []string{"#"}, templates: `"`, anyCase: true, keywords: "add_compile_options add_custom_command add_executable add_library add_subdirectory add_test cmake_minimum_required else elseif endforeach endfunction endif endmacro endwhile enable_testing find_package foreach function if include install macro message option project return set target_compile_definitions target_include_directories target_link_libraries while"},
	{names: "hcl terraform tf", files: ".tf .tfvars .hcl .nomad", comments: []string{"#", "//"}, blocks: slashes, quotes: `"`, letters: "-", keys: "=", keywords: "data for if in locals module output provider resource terraform variable moved import check", builtins: "true false null string number bool list map object set any"},
	{names: "nix", files: ".nix", comments: []string{"#"}, blocks: slashes, templates: `"`, texts: [][2]string{{"''", "''"}}, letters: "-'", keys: "=", keywords: "assert else if in inherit let or rec then with import", builtins: "true false null builtins"},
	{names: "protobuf proto", files: ".proto", comments: []string{"//"}, blocks: slashes, quotes: `"'`, declare: "message service enum rpc",
		keywords: "enum extend extensions group import map message oneof option optional package public repeated required reserved returns rpc service stream syntax to weak", builtins: "bool bytes double fixed32 fixed64 float int32 int64 sint32 sint64 string uint32 uint64 true false"},
	{names: "graphql gql", files: ".graphql .gql .graphqls", comments: []string{"#"}, quotes: `"`, texts: [][2]string{{`"""`, `"""`}}, letters: "$", decorators: true, keys: ":", declare: "type input interface enum union scalar query mutation fragment",
		keywords: "directive enum extend fragment implements input interface mutation on query repeatable scalar schema subscription type union", builtins: "Boolean Float ID Int String true false null"},
	{names: "markdown md mdx", files: ".md .mdx .markdown", blocks: angles, quotes: "`", texts: [][2]string{{"```", "```"}}},
	{names: "latex tex", files: ".tex .sty .cls .bib", comments: []string{"%"}, letters: `\`, keywords: `\begin \end \documentclass \usepackage \section \subsection \newcommand \label \ref \cite`},
	{names: "vim viml", files: ".vim .vimrc", comments: []string{`"`}, texts: [][2]string{{"'", "'"}}, letters: "#:&", keywords: "augroup autocmd call command echo else elseif endfor endfunction endif endwhile for function if in let map nnoremap inoremap vnoremap return set setlocal while"},
}

// The languages by each name, and by each ending and whole file name.
var (
	byName = sync.OnceValue(func() map[string]*language { return listed(func(l *language) string { return l.names }) })
	byFile = sync.OnceValue(func() map[string]*language { return listed(func(l *language) string { return l.files }) })
)

func listed(words func(*language) string) map[string]*language {
	all := map[string]*language{}
	for _, l := range known {
		for _, w := range strings.Fields(words(l)) {
			all[w] = l
		}
	}
	return all
}

// ofFile returns the language of a file by its name, or nil if it has no colours.
func ofFile(name string) *language {
	name = strings.ToLower(path.Base(name))
	if l := byFile()[name]; l != nil {
		return l
	}
	if l := byFile()[path.Ext(name)]; l != nil {
		return l
	}
	before, _, _ := strings.Cut(name, ".") // Dockerfile.dev, Makefile.am
	if l := byFile()[before]; l != nil && before != name && slices.Contains([]string{"dockerfile", "containerfile", "makefile", "jenkinsfile"}, before) {
		return l
	}
	return nil
}

// ofName returns the language of a code block by the word after its fence, or nil.
func ofName(name string) *language { return byName()[strings.ToLower(name)] }
