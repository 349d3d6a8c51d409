"""Word lists of the bundled model's training data; `bundled_data` combines them."""

from __future__ import annotations

FIRST_NAMES = """
Ada Alan Albert Alice Amara Amir Amy Ana Andre Andrea Angela Anita Anna Anne Anton Aria Arjun Arthur Astrid Aya Barbara
Beatriz Ben Bianca Boris Brian Bruno Camila Carl Carlos Carmen Cecilia Charles Chen Chloe Chris Clara Claire Claudia
Daniel Daria David Deniz Diana Diego Dmitri Dora Dylan Edith Edward Elena Eli Elif Elisa Ella Emil Emily Emma Eric Erik
Esther Eva Evan Farah Fatima Felix Fiona Frank Frida Gabriel George Gina Giulia Grace Greta Hana Hannah Hans Harry
Hassan Hector Heidi Helen Henry Hugo Ian Ibrahim Ida Igor Ines Ingrid Irene Iris Isaac Isabel Ivan Jack Jacob Jade
James Jan Jane Jasmine Javier Jean Jenna Jens Joana Joe John Jonas Jorge Jose Joseph Julia Julian Karen Karim Kate
Katarina Kenji Kevin Khalid Kim Kira Klaus Lara Lars Laura Lea Leila Lena Leo Leon Liam Lina Linda Lisa Liu Louis Lucas
Lucia Lucy Luis Luna Magda Maja Mara Marco Maria Marie Marta Martin Mary Mateo Matt Max Maya Mei Mia Michael Miguel Mila
Mina Mohamed Mona Nadia Nadine Naomi Nathan Nia Nick Nicole Nina Noah Noor Nora Olga Oliver Olivia Omar Oscar Pablo
Paula Paul Pedro Peter Petra Philip Pia Priya Rachel Rafael Raj Rania Raul Ravi Rebecca Rita Robert Rosa Rose Ruth Ryan
Sam Samira Sandra Sara Sarah Sofia Sonia Stefan Stella Steve Sue Susan Sven Tanya Tara Theo Thomas Tim Tina Tom Tomas
Uma Ursula Vera Victor Viktor Vincent Walter Wei Wendy William Xavier Yara Yasmin Yuki Yusuf Zara Zoe José Zoë René
Søren Jürgen André Chloé Łukasz Göran Núria Raúl Inês Åsa
""".split()

LAST_NAMES = """
Adams Ahmed Ali Allen Almeida Alvarez Anderson Bach Bailey Baker Barbosa Barnes Bauer Becker Bell Bennett Berg Bianchi
Black Boyd Brandt Brooks Brown Bruno Burke Byron Campbell Carlsen Carter Castro Chan Chavez Chen Clark Cole Collins
Conti Cook Cooper Costa Cox Cruz Curie Dahl Davies Davis Delgado Diaz Dixon Dubois Duarte Dunn Edwards Ellis Engel
Esposito Evans Fernandes Ferrari Fischer Fisher Flores Ford Foster Fox Franco Frank Garcia Gibson Gomez Gonzalez Gordon
Graham Grant Gray Green Greco Gruber Gupta Haas Hall Hansen Harris Hassan Hayes Hernandez Hill Hoffmann Holm Hopper
Howard Huang Hughes Hunt Ibrahim Ito Ivanov Jackson James Janssen Jensen Johnson Jones Kahn Kaiser Kaur Keller Kelly
Khan Kim King Klein Koch Kovacs Kowalski Krause Kumar Lang Larsen Laurent Lee Lehmann Lewis Lima Lindberg Liu Lopez
Lovelace Lund Maier Marino Marsh Martin Martinez Mason Mehta Meyer Miller Mitchell Molina Moore Morales Moreau Moretti
Morgan Morris Murphy Murray Nakamura Nelson Newman Nguyen Nielsen Novak Okafor Olsen Ortiz Osman Owens Palmer Park
Parker Patel Pereira Perez Perry Petrov Phillips Pinto Popov Powell Price Quinn Ramos Reed Reyes Ricci Richter Rivera
Roberts Robinson Rocha Rodriguez Rogers Romano Rossi Roth Russell Ryan Saito Sanchez Santos Sato Schmidt Schneider
Schulz Scott Shah Sharma Shaw Silva Simon Singh Smith Sousa Stein Stewart Stone Suzuki Svensson Tanaka Taylor Thomas
Thompson Torres Tran Turner Turing Vargas Vega Vogel Wagner Walker Wang Ward Watson Weber Weiss West White Williams
Wilson Winter Wolf Wong Wood Wright Yamada Yang Yilmaz Young Zhang Ziegler O'Brien O'Connor Müller Schröder García
Muñoz Nuñez Gonçalves Sørensen Dvořák
""".split()

CITIES = """
Amsterdam Ankara Athens Auckland Austin Bangkok Barcelona Beijing Belgrade Bergen Berlin Bern Bogota Bologna Boston
Bristol Brussels Bucharest Budapest Cairo Calgary Cardiff Chicago Cologne Copenhagen Dakar Dallas Delhi Denver Detroit
Dresden Dublin Dubai Edinburgh Florence Frankfurt Geneva Genoa Ghent Glasgow Graz Hamburg Hanoi Havana Helsinki Houston
Istanbul Jakarta Karachi Kathmandu Kiev Krakow Kyoto Lagos Leeds Leipzig Lima Lisbon Liverpool Ljubljana London Lyon
Madrid Malaga Manchester Manila Marseille Melbourne Miami Milan Minsk Montreal Moscow Mumbai Munich Nairobi Naples Nice
Osaka Oslo Ottawa Oxford Palermo Paris Perth Philadelphia Phoenix Porto Prague Quito Riga Rome Rotterdam Salzburg
Santiago Seattle Seoul Seville Shanghai Singapore Sofia Stockholm Stuttgart Sydney Taipei Tallinn Tokyo Toronto Toulouse
Turin Utrecht Valencia Vancouver Venice Vienna Vilnius Warsaw Wellington Zagreb Zurich Zürich Málaga Cádiz Córdoba
""".split()

TWO_WORD_CITIES = [
    "New York",
    "San Francisco",
    "Los Angeles",
    "Cape Town",
    "Buenos Aires",
    "Mexico City",
    "Hong Kong",
    "Tel Aviv",
    "New Orleans",
    "San Diego",
    "Salt Lake City",
    "Rio de Janeiro",
    "São Paulo",
    "St. Louis",
]

COUNTRIES = """
Argentina Australia Austria Belgium Brazil Bulgaria Canada Chile China Colombia Croatia Cuba Denmark Egypt Estonia
Finland France Germany Ghana Greece Hungary Iceland India Indonesia Ireland Israel Italy Japan Kenya Latvia Lithuania
Luxembourg Malta Mexico Morocco Nepal Netherlands Nigeria Norway Pakistan Peru Poland Portugal Romania Serbia Slovakia
Slovenia Spain Sweden Switzerland Thailand Tunisia Turkey Uganda Ukraine Uruguay Vietnam
""".split()

JOBS = """
nurse teacher engineer doctor lawyer baker pilot chef designer developer programmer mathematician physicist chemist
biologist architect plumber electrician carpenter painter writer journalist editor photographer actor musician singer
dancer dentist surgeon vet pharmacist accountant economist banker consultant manager analyst translator librarian
historian geologist astronomer farmer gardener florist butcher tailor barber driver mechanic sailor soldier judge
student researcher scientist professor technician waiter cashier secretary director producer publisher
""".split()

PRODUCTS = """
lamp chair table desk sofa bed shelf mirror carpet pillow blanket towel curtain clock vase candle mug cup plate bowl
fork spoon knife pan pot kettle toaster oven fridge blender mixer laptop phone tablet monitor keyboard mouse printer
camera speaker headset charger cable battery router microphone tripod drone watch ring necklace bracelet scarf hat cap
glove belt wallet bag backpack suitcase umbrella jacket coat shirt sweater dress skirt sock shoe boot sandal bicycle
helmet tent rope ladder hammer drill saw screwdriver wrench bolt nail bucket broom brush sponge pencil pen notebook
marker eraser ruler stapler folder envelope stamp book magazine poster puzzle doll ball kite guitar piano violin drum
flute apple pear banana orange lemon mango melon peach plum cherry grape tomato potato carrot onion pepper cucumber
pizza burger sandwich salad soup taco burrito pasta bagel croissant muffin cookie cake pie donut coffee tea juice
""".split()

FOODS = """
flour sugar salt butter milk eggs cheese cream rice pasta bread oats honey yeast garlic onion basil thyme oregano pepper
tomato potato carrot spinach broccoli lettuce cucumber zucchini mushroom beans lentils chickpeas tofu chicken beef pork
salmon tuna shrimp apples pears bananas oranges lemons limes strawberries cherries grapes olives walnuts almonds
chocolate vanilla cinnamon ginger coconut yogurt mustard vinegar oil water coffee tea
""".split()

ADJECTIVES = """
red blue green yellow black white brown grey purple pink golden silver small large big tiny tall short long wide narrow
round square wooden plastic leather cotton metal glass steel ceramic vintage modern classic old new cheap heavy light
soft hard wireless digital electric portable foldable smart fresh frozen dried sweet spicy silent dark bright hidden
broken lost last first final secret ancient wild quiet distant empty frozen burning
""".split()

NOUNS = """
river mountain forest ocean island desert valley garden house castle tower bridge road city village harbor station train
ship star moon sun sky storm wind rain snow winter summer spring night morning dream memory shadow mirror stone fire
flower tree bird wolf fox lion tiger horse dragon king queen child brother sister mother stranger soldier sailor artist
letter book song dance game journey promise secret door window clock machine engine robot signal code map
""".split()

HOBBIES = """
chess reading swimming running cycling hiking climbing painting drawing cooking baking gardening fishing sailing surfing
skiing dancing singing knitting sewing photography yoga tennis golf football basketball volleyball pottery archery
rowing judo karate boxing skating astronomy birdwatching writing travel music poetry theatre
""".split()

COMPANY_ENDS = """
Ltd Inc GmbH Labs Systems Foods Motors Energy Media Studio Group Partners Bank Airlines Pharma Robotics Software Books
Coffee Logistics Solutions Technologies
""".split()

LANGUAGES = """
English German French Spanish Italian Portuguese Dutch Polish Czech Russian Greek Turkish Arabic Hindi Bengali Chinese
Japanese Korean Vietnamese Thai Swedish Norwegian Danish Finnish Hungarian Romanian
""".split()

COLORS = "red blue green yellow black white brown grey purple pink orange silver gold beige".split()

STREETS = """
Main Oak Pine Maple Cedar Elm Park Lake Hill River Church Mill King Queen Station Garden Market Bridge High Baker Spring
""".split()

STREET_ENDS = ["Street", "Avenue", "Road", "Lane", "Drive", "Square", "Way"]

EVENTS = """
meeting workshop conference concert lecture party dinner lunch breakfast interview seminar webinar festival exhibition
wedding hackathon training demo review standup retreat picnic match marathon ceremony reception
""".split()

TOPIC_WORDS = """
budget roadmap hiring marketing security design testing sales strategy planning quality safety research python database
network cloud climate history poetry jazz robotics health finance education nutrition
""".split()

GENRES = "drama comedy thriller horror romance fantasy mystery western documentary musical adventure crime".split()

PETS = "dog cat rabbit hamster parrot horse goldfish turtle canary ferret lizard snake mouse goat pony".split()

CARS = "Toyota Ford Honda Volvo Fiat Opel Tesla Audi Skoda Mazda Nissan Renault Peugeot Kia Hyundai Subaru".split()

ONSETS = "b c d f g h j k l m n p r s t v w z br ch dr fl gr kr pl st th tr sh".split()
VOWELS = "a e i o u a e i o ai ea ie oo".split()
CODAS = ["", "", "", "n", "r", "l", "s", "t", "m", "k", "nd", "rt", "x"]
LAST_ENDS = ["son", "man", "ski", "ov", "berg", "field", "ton", "ley", "er", "ez", "ini", "wood", "", "", ""]
CITY_ENDS = ["ville", "ton", "burg", "ford", "haven", "stad", "port", "dale", "mouth", "bury", "o", "a", ""]

POSITIVE = """
great excellent wonderful amazing fantastic superb brilliant lovely perfect outstanding delightful good awesome
beautiful impressive enjoyable charming terrific splendid solid reliable nice incredible stunning marvelous
""".split()
NEGATIVE = """
terrible awful horrible bad poor disappointing boring dreadful useless broken cheap ugly annoying slow weak dull
frustrating mediocre lousy unreliable faulty disgusting noisy overpriced pathetic
""".split()
NEUTRAL = "okay average ordinary acceptable fine normal unremarkable standard so-so passable".split()

POSITIVE_VERBS = [
    "I love it",
    "I loved it",
    "Highly recommended",
    "Would buy again",
    "Works perfectly",
    "Very happy with it",
    "Best purchase this year",
    "It exceeded my expectations",
    "My kids adore it",
    "Worth every penny",
    "Five out of five",
    "I am so pleased",
    "Absolutely loved every minute",
    "Can't fault it",
    "Thank you so much",
]
NEGATIVE_VERBS = [
    "I hate it",
    "I hated it",
    "Do not buy",
    "Never again",
    "It broke after a day",
    "Very unhappy with it",
    "Worst purchase this year",
    "I want my money back",
    "A waste of money",
    "It stopped working",
    "I regret buying it",
    "Stay away",
    "It fell apart",
    "Not worth the price",
    "I am so disappointed",
]
NEUTRAL_VERBS = [
    "It does the job",
    "Nothing special",
    "Neither good nor bad",
    "It is what it is",
    "Could be better, could be worse",
    "I have no strong opinion",
    "Does what it says",
]
REVIEWED = """
phone movie film book hotel restaurant laptop camera pizza service food game album show series charger keyboard blender
headset airline course app website shop museum jacket sofa lamp mattress vacuum toaster coffee waiter staff room view
""".split()
