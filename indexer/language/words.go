package language

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// maxFunctionWord is the maximum length of a function word in bytes.
const maxFunctionWord = 24

// functionWords maps each function word to its languages. Function words hold sentences
// together or begin questions. The map is used only to detect languages.
var functionWords = sync.OnceValue(func() map[string][]Code {
	all := map[string][]Code{}
	for c, words := range map[Code]string{
		English: `the of and to is in that for with you this it are be can as on or not from your if by an at we will have has
			how what when which where why do does use using into than then there these they but all also`,
		German: `der die das und ist in den von zu mit sich des auf für nicht ein eine als auch es an werden aus er hat dass sie nach
			wird bei einer einem einen um am sind noch wie über so zum war haben nur oder aber vor zur bis mehr durch man kann können
			dann wenn sein ihre ihr ihren wir was wo warum welche welcher welches wann muss müssen dieser diese dieses sowie`,
		Spanish: `el la de que y en un una los las del se por con para es como no su al lo más o pero sus este esta esto si cuando
			puede puedes también muy sin sobre ser tiene tienes hay está están donde desde todo qué cómo cuál cuándo dónde entre tu`,
		French: `le la les de des du et en un une est que qui dans pour par sur avec pas ce cette ces il elle nous vous au aux ne se
			sont être plus ou mais comme son sa ses votre vos peut pouvez si tout lorsque quand où comment pourquoi quel quelle été`,
		Italian: `il lo la gli le di del della dei delle che e è un una in per con non si da dal sono come anche più questo questa
			essere nel nella alla al ma se puoi può quando dove perché cosa quale tutti i sul suo`,
		Portuguese: `de da dos das que em um uma para com não por na se mais como mas ao ou ser seu sua você pode
			também isso este esta quando onde porque são está tem foi pelo pela qual até sem`,
		Dutch: `de het een en van is dat op te in voor met niet zijn aan er die ook als om dan bij uit of maar wordt worden kan kunt
			deze dit naar je we hoe wat wanneer waar waarom door over nog heeft hebben moet uw zich`,
		Swedish: `och att det som en på är av för med den till inte om ett har de kan så från eller vi du när hur vad där ska måste
			detta denna också finns än vid ut mot genom`,
		Danish: `og at det som en på er af for med den til ikke om et har de kan så fra eller vi du når hvordan hvad hvor skal også
			dette denne findes ved ud mod gennem blive bliver være`,
		Norwegian: `og at det som en på er av for med den til ikke om et har de kan så fra eller vi du når hvordan hva hvor skal også
			dette denne finnes ved ut mot gjennom bli blir være deg`,
		Finnish: `ja on ei se että kun voi tai ovat joka mutta jos niin tämä myös oli hän kuin sen ne olla miten mikä missä
			mitä milloin miksi voit tätä sekä jotka näin kanssa`,
		Hungarian: `a az és hogy nem is egy van ez ha de vagy csak meg már mint azt lehet kell ki el hogyan mi mit hol mikor miért
			ezt amely akkor lesz volt minden`,
		Romanian: `și şi de la în care pe cu nu este un o se din pentru mai că sunt să ca ce dar sau fi cum unde când poate puteți
			acest această dacă prin după`,
		Turkish: `ve bir bu için ile de da ne nasıl olarak daha çok gibi olan var kadar değil ya veya ise sonra her en ki mi
			nerede hangi neden olur eğer şu`,
		Russian: `и в не на я что с по это как а к но из у за от то же для так или вы мы он они если при чтобы может можно также
			быть когда где почему какой какие был есть этот эта все`,
		Arabic: `في من على إلى أن هذا هذه التي الذي مع عن ما لا هو هي كان يمكن كما أو إذا قد كل ثم بعد قبل كيف متى أين لماذا لم بين`,
		Tamil:  `ஒரு மற்றும் இந்த என்று அந்த இது அது என உள்ள முடியும் வேண்டும் எப்படி என்ன எங்கே ஏன் போது இருந்து அல்லது`,
		Chinese: `的 了 吗 呢 吧 是 在 和 与 或 及 我 你 您 他 它 们 我们 这 那 个 如 何 如何 怎 么 怎么 怎样 什 什么 哪 些 哪些 哪个 为
			为什 么么 应 该 应该 可 以 可以 能 会 要 请 问 请问 有 没 没有 不 把 被 对 从 到 就 都 也 而 时 后 前 里 上 下 中 还 是否
			还是 之 其`,
	} {
		for word := range strings.FieldsSeq(words) {
			// A single Latin letter may also be a name or part of a formula.
			if len(word) > 1 {
				all[word] = append(all[word], c)
			}
		}
	}
	return all
})

// detection is the version of the code of [Detect]. Increase it if the code finds another
// language in any page.
const detection = 1

// Rules describes everything by which [Detect] finds languages. If two versions of this
// package have different rules, they may find different languages.
func Rules() string {
	var b strings.Builder
	fmt.Fprintln(&b, detection, maxRead, leastHits, leastKinds, leastShare, claimedHits, claimedKinds, claimedShare, cjkWeight, claimedCJKWeight, kanaShare, hangulShare, maxFunctionWord)
	of := functionWords()
	for _, word := range slices.Sorted(maps.Keys(of)) {
		fmt.Fprintln(&b, word, slices.Sorted(slices.Values(of[word])))
	}
	for _, tag := range slices.Sorted(maps.Keys(codes)) {
		fmt.Fprintln(&b, tag, codes[tag])
	}
	return b.String()
}

// Joins reports whether word is a function word in c. Function words hold sentences
// together or begin questions.
func (c Code) Joins(word string) bool {
	return len(word) <= maxFunctionWord && slices.Contains(functionWords()[strings.ToLower(word)], c)
}
