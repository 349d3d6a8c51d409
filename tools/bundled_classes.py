"""Texts with a known class (sentiment, topic, ticket, urgency, language ...) for the bundled model's training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import bundled_words as words

if TYPE_CHECKING:
    from random import Random


@dataclass(frozen=True)
class Label:
    """One class: the names that a schema may give it, and the templates of texts that belong to it."""

    names: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    """A classification task: the field names that ask for it, and its classes."""

    keys: tuple[str, ...]
    labels: tuple[Label, ...]


_FILL: dict[str, list[str]] = {
    "thing": "app,website,page,program,dashboard,editor,menu,checkout,search,login page,export,report,mobile app,screen,"
    "installer,plugin,server,chat,form,upload".split(","),
    "fails": "crashes,freezes,hangs,stops working,shows an error,closes itself,shows a blank page,does not respond,"
    "is broken,throws an exception,fails,gets stuck,loses my data,loads forever".split(","),
    "act": "click save,click the button,press enter,log in,log out,open the settings,upload a file,scroll down,"
    "change my password,open a report,print,export a file,search,add a photo,rotate the screen,click send,hit delete,"
    "start it,type my name,edit a note".split(","),
    "wish": "a dark mode,an export to Excel,keyboard shortcuts,a calendar view,support for Spanish,a search box,"
    "an offline mode,a mobile app,two-factor login,a way to sort the list,bigger fonts,a print button,an undo button,"
    "custom colors,more filters,drag and drop,email reminders,a share button,a weekly summary,tags".split(","),
    "money": "charged twice,billed for a plan I cancelled,charged the wrong amount,charged too much,"
    "billed in the wrong currency,charged after my trial ended,overcharged".split(","),
    "bill": "invoice,receipt,bill,payment,refund,credit card,subscription fee,last charge,statement,discount".split(
        ","
    ),
    "team": "Lions,Eagles,Tigers,Wolves,Bears,United,Rovers,Hawks,home team,champions,visitors,national team".split(
        ","
    ),
    "sport": "football,basketball,tennis,hockey,rugby,cricket,baseball,volleyball,golf,swimming".split(","),
    "person": "prime minister,president,senator,mayor,governor,chancellor,minister,parliament,government,opposition".split(
        ","
    ),
    "gadget": "phone,laptop,chip,processor,robot,app,browser,smartwatch,AI model,software update,operating system".split(
        ","
    ),
    "dish": "soup,pasta,cake,bread,curry,salad,pizza,stew,sauce,dessert,roast,pie".split(","),
    "planet": "planet,galaxy,comet,asteroid,particle,fossil,protein,virus,black hole,molecule,gene".split(","),
    "illness": "flu,diabetes,asthma,cancer,malaria,obesity,high blood pressure,migraine,allergies,depression".split(
        ","
    ),
    "city": [*words.CITIES[:80]],
    "item": [*words.REVIEWED],
    "good": [*words.POSITIVE],
    "bad": [*words.NEGATIVE],
    "meh": [*words.NEUTRAL],
    "love": [*words.POSITIVE_VERBS],
    "hate": [*words.NEGATIVE_VERBS],
    "shrug": [*words.NEUTRAL_VERBS],
    "product": [*words.PRODUCTS],
}

_POSITIVE = Label(
    ("positive", "pos", "good", "POSITIVE", "happy", "like"),
    ("{good} {item}", "what a {good} {item}", "the {item} was {good}", "the {item} is {good}", "{love}", "{good} {item}. {love}",
     "the {item} was {good} and {good}", "a {good}, {good} {item}", "{love}! The {item} is {good}", "{good}", "this {item} is {good}",
     "I think the {item} is {good}", "{love}, {good} {item}", "really {good} {item}", "not {bad} at all, the {item} was {good}"),
)  # fmt: skip
_NEGATIVE = Label(
    ("negative", "neg", "bad", "NEGATIVE", "unhappy", "dislike"),
    ("{bad} {item}", "what a {bad} {item}", "the {item} was {bad}", "the {item} is {bad}", "{hate}", "{bad} {item}. {hate}",
     "the {item} was {bad} and {bad}", "a {bad}, {bad} {item}", "{hate}! The {item} is {bad}", "{bad}", "this {item} is {bad}",
     "I think the {item} is {bad}", "{hate}, {bad} {item}", "really {bad} {item}", "not {good} at all, the {item} was {bad}"),
)  # fmt: skip
_NEUTRAL = Label(
    ("neutral", "mixed", "NEUTRAL", "meh"),
    ("{meh} {item}", "the {item} was {meh}", "the {item} is {meh}", "{shrug}", "{meh} {item}. {shrug}", "an {meh} {item}",
     "the {item} was {good} but also {bad}", "{shrug}, the {item} is {meh}", "partly {good}, partly {bad}"),
)  # fmt: skip

SENTIMENT = Task(
    ("sentiment", "mood", "opinion", "label", "polarity", "tone", "verdict"), (_POSITIVE, _NEGATIVE, _NEUTRAL)
)

CATEGORY = Task(
    ("category", "type", "kind", "topic", "department", "label", "queue"),
    (
        Label(
            ("bug", "bug_report", "defect", "technical", "error", "issue", "incident"),
            ("the {thing} {fails} when I {act}", "when I {act}, the {thing} {fails}", "the {thing} {fails}",
             "every time I {act} the {thing} {fails}", "since the update the {thing} {fails}", "I {act} and the {thing} {fails}",
             "the {thing} {fails} as soon as I {act}", "error in the {thing}: it {fails}", "my {thing} {fails} after I {act}",
             "I cannot {act}, the {thing} {fails}", "{thing} {fails}", "there is a bug in the {thing}"),
        ),
        Label(
            ("billing", "payment", "invoice", "finance", "payments", "refund"),
            ("I was {money}", "why was I {money}", "I have been {money} this month", "there is a mistake on my {bill}",
             "where can I find my {bill}", "my {bill} is wrong", "I have a question about my {bill}", "please send me the {bill}",
             "I did not get my {bill}", "how do I change my {bill}", "I want a refund", "I want my money back, I was {money}",
             "my card was {money}", "the amount on the {bill} is too high"),
        ),
        Label(
            ("feature", "feature_request", "idea", "enhancement", "suggestion", "wish"),
            ("please add {wish}", "could you add {wish}", "it would be nice to have {wish}", "I would love {wish}", "I wish there was {wish}",
             "are you planning {wish}", "can we get {wish}", "my team would like {wish} in the {thing}", "the {thing} needs {wish}",
             "suggestion: {wish} in the {thing}", "{wish} would help me a lot", "it would be great if the {thing} had {wish}"),
        ),
        Label(
            ("account", "login", "access", "security"),
            ("I forgot my password", "please delete my account", "how do I change my email address", "my account is locked",
             "I want to close my account", "I cannot remember my username", "please reset my password", "someone else is using my account",
             "how do I change my username", "I need to reset my account"),
        ),
        Label(
            ("shipping", "delivery", "logistics"),
            ("where is my parcel", "my {product} has not arrived", "my order is late", "the parcel with my {product} is lost",
             "when will my {product} be delivered", "can you ship the {product} to {city}", "the courier never came",
             "how long does delivery to {city} take", "I want to change the delivery address"),
        ),
        Label(
            ("question", "other", "general", "howto"),
            ("what are your opening hours", "do you have an office in {city}", "who can I talk to about a job", "where are you located",
             "is your shop open on Sunday", "I just wanted to say hello", "do you offer tours in {city}"),
        ),
    ),
)  # fmt: skip

URGENT = ("please fix it urgently", "this is urgent", "urgent", "as soon as possible", "I need this today", "please hurry", "ASAP",
          "it is an emergency", "right now, please", "this is blocking all our work", "immediately, please", "this is critical",
          "we are losing customers", "please help quickly", "it cannot wait", "fix this immediately", "I need help urgently",
          "high priority", "our production is down", "please, it is very urgent")  # fmt: skip
RELAXED = ("no hurry", "no rush", "whenever you have time", "it can wait", "not urgent", "just a small thing", "take your time",
           "low priority", "there is no need to hurry", "when you get a chance", "nothing important", "someday maybe",
           "it is only a minor thing", "next month is fine")  # fmt: skip
PRIORITY_KEYS = ("priority", "urgency", "severity", "importance", "level")
PRIORITY_NAMES = ((("low", "LOW", "minor", "not_urgent"), ("high", "HIGH", "urgent", "critical", "major")),
                  (("low", "LOW", "P3"), ("medium", "MEDIUM", "normal", "P2"), ("high", "HIGH", "urgent", "P1")))  # fmt: skip

TOPIC = Task(
    ("topic", "category", "section", "subject", "label", "theme"),
    (
        Label(("sports", "sport"), (
            "the {team} won the {sport} final", "the {team} beat the {team}", "a late goal gave the {team} the win",
            "the {team} lost their {sport} match in {city}", "the {sport} season starts in {city}", "the coach of the {team} resigned",
            "she won a gold medal in {sport}", "the {sport} player was injured", "{sport} fans celebrated in {city}")),
        Label(("politics", "government"), (
            "the {person} lost the vote", "the {person} won the election", "the {person} signed a new law", "voters in {city} go to the polls",
            "the {person} met the {person}", "the {person} resigned", "a new tax law was passed by the {person}",
            "the {person} gave a speech in {city}", "protests against the {person} in {city}")),
        Label(("technology", "tech"), (
            "a new {gadget} was released", "the {gadget} has a faster processor", "developers love the new {gadget}",
            "the company announced a {gadget} in {city}", "hackers found a hole in the {gadget}", "the {gadget} runs on open source software",
            "the latest {gadget} has more memory", "how to install the {gadget}")),
        Label(("science", "research"), (
            "scientists discovered a new {planet}", "researchers in {city} studied a {planet}", "a telescope saw a distant {planet}",
            "a new experiment explains the {planet}", "the study of the {planet} was published", "physicists measured the {planet}",
            "biologists found a rare {planet}")),
        Label(("business", "economy", "finance"), (
            "shares fell on the stock market", "the bank in {city} raised interest rates", "the company reported higher profits",
            "inflation rose again", "the startup raised ten million", "sales of the company fell", "the merger of two banks was approved",
            "the company in {city} cut a thousand jobs", "oil prices rose sharply")),
        Label(("health", "medicine"), (
            "a new drug against {illness}", "doctors warn about {illness}", "patients with {illness} should sleep more",
            "the hospital in {city} treats {illness}", "how to prevent {illness}", "a vaccine against {illness} was approved",
            "exercise helps against {illness}")),
        Label(("entertainment", "culture", "arts"), (
            "the actor won an award", "the band released a new album", "the film opens in {city} this week", "the singer starts a tour in {city}",
            "a new series about a detective", "the museum in {city} shows paintings", "the director made a new movie",
            "the concert in {city} was sold out")),
        Label(("travel", "tourism"), (
            "ten things to see in {city}", "cheap flights to {city}", "the best hotels in {city}", "a weekend in {city}",
            "the most beautiful beaches near {city}", "how to travel from {city} to {city} by train", "what to pack for a trip to {city}")),
        Label(("food", "cooking"), (
            "how to cook a {dish}", "the best {dish} in {city}", "a simple recipe for {dish}", "bake the {dish} for an hour",
            "add salt and pepper to the {dish}", "the chef serves {dish} with fresh herbs", "this {dish} needs more garlic")),
        Label(("weather", "climate"), (
            "heavy rain in {city} tomorrow", "a storm is coming to {city}", "it will be sunny in {city}", "snow is expected in {city}",
            "temperatures will fall below zero", "a heat wave reached {city}", "strong winds and thunder tonight")),
    ),
)  # fmt: skip

LANGUAGE = Task(
    ("language", "lang", "locale", "label"),
    (
        Label(("english", "English", "en"), ("good morning, how are you", "the weather is nice today", "where is the station", "I would like a coffee",
              "thank you very much", "what time is it", "my name is Peter", "we live in a small house", "the cat sleeps on the chair", "see you tomorrow")),
        Label(("german", "German", "de"), ("guten Morgen, wie geht es dir", "das Wetter ist heute schön", "wo ist der Bahnhof", "ich möchte einen Kaffee",
              "vielen Dank", "wie spät ist es", "ich heiße Peter", "wir wohnen in einem kleinen Haus", "die Katze schläft auf dem Stuhl", "bis morgen")),
        Label(("french", "French", "fr"), ("bonjour, comment allez-vous", "il fait beau aujourd'hui", "où est la gare", "je voudrais un café",
              "merci beaucoup", "quelle heure est-il", "je m'appelle Pierre", "nous habitons dans une petite maison", "le chat dort sur la chaise", "à demain")),
        Label(("spanish", "Spanish", "es"), ("buenos días, cómo estás", "hoy hace buen tiempo", "dónde está la estación", "quisiera un café",
              "muchas gracias", "qué hora es", "me llamo Pedro", "vivimos en una casa pequeña", "el gato duerme en la silla", "hasta mañana")),
        Label(("italian", "Italian", "it"), ("buongiorno, come stai", "oggi fa bel tempo", "dov'è la stazione", "vorrei un caffè",
              "grazie mille", "che ore sono", "mi chiamo Pietro", "abitiamo in una piccola casa", "il gatto dorme sulla sedia", "a domani")),
        Label(("portuguese", "Portuguese", "pt"), ("bom dia, como vai você", "o tempo está bom hoje", "onde fica a estação", "eu queria um café",
              "muito obrigado", "que horas são", "meu nome é Pedro", "moramos em uma casa pequena", "o gato dorme na cadeira", "até amanhã")),
    ),
)  # fmt: skip

INTENT = Task(
    ("intent", "action", "request", "kind", "label"),
    (
        Label(("greeting", "hello", "greet"), ("hello", "hi there", "good morning", "hey, how are you", "good evening everyone", "hi, nice to meet you")),
        Label(("goodbye", "farewell", "bye"), ("goodbye", "see you later", "bye, have a nice day", "good night", "see you next week", "take care, bye")),
        Label(("order", "buy", "purchase"), ("I would like to buy a {product}", "can I get a {product}", "I want to order two {product}s",
              "please send me a {product}", "I need a new {product}", "I'll take the {product}")),
        Label(("cancel", "cancellation", "return"), ("please cancel my order", "I want to return the {product}", "cancel the {product}, please",
              "I no longer need the {product}", "can I send the {product} back", "I changed my mind about the {product}")),
        Label(("complaint", "complain"), ("the {item} was {bad}", "I am not satisfied with the {item}", "your {item} is {bad}", "this {product} is broken",
              "I want to complain about the {item}", "the {item} was too {bad}")),
        Label(("thanks", "thank_you", "praise"), ("thank you for the {item}", "thanks a lot", "many thanks for your help", "the {item} was {good}, thank you",
              "thanks, that was {good}")),
        Label(("question", "ask", "info"), ("how much is the {product}", "do you sell a {product}", "what does the {product} cost", "when do you open",
              "is the {product} still available", "which {product} is better")),
    ),
)  # fmt: skip

SPAM = Task(
    ("label", "kind", "verdict", "class", "category", "status"),
    (
        Label(("spam", "junk", "SPAM"), ("you won a free {product}, click here", "claim your prize now", "earn money fast from home", "cheap {product}s, buy now",
              "congratulations, you have been selected", "lose weight in one week", "limited offer: free {product}", "hot deals, click this link")),
        Label(("ham", "not_spam", "ok", "normal"), ("are we still meeting at noon", "please find the report attached", "can you call me tonight",
              "the {product} you ordered is ready", "happy birthday from all of us", "the train to {city} is late", "here are my notes from today")),
    ),
)  # fmt: skip

EMOTION = Task(
    ("emotion", "feeling", "mood", "label"),
    (
        Label(("joy", "happy", "happiness"), ("I am so happy today", "what a {good} day", "I can't stop smiling", "we are delighted", "I passed the exam, hooray",
              "I am over the moon")),
        Label(("sadness", "sad"), ("I feel so lonely", "I cried all night", "I miss my friend", "my dog died", "I am heartbroken", "it makes me so sad")),
        Label(("anger", "angry"), ("I am furious", "how dare you", "this makes me so angry", "I am mad at the {item}", "stop shouting at me, I am angry",
              "what an outrage")),
        Label(("fear", "scared", "afraid"), ("I am afraid of the dark", "I am so scared", "that noise terrifies me", "I am worried about tomorrow",
              "spiders frighten me", "I am nervous about the exam")),
        Label(("surprise", "surprised"), ("I did not expect that", "wow, really", "what a surprise", "I can't believe it", "that came out of nowhere",
              "I was astonished")),
    ),
)  # fmt: skip

TASKS: tuple[Task, ...] = (SENTIMENT, CATEGORY, TOPIC, LANGUAGE, INTENT, SPAM, EMOTION)


def fill(rng: Random, template: str) -> str:
    """Replace each `{slot}` of a template by a random word of its list, each one drawn anew."""
    parts = template.split("{")
    text = parts[0]
    for part in parts[1:]:
        slot, rest = part.split("}", 1)
        text += rng.choice(_FILL[slot]) + rest
    return text
