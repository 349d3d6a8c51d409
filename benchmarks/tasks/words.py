"""The vocabulary of the tasks, by split; no entry is in both halves."""

from __future__ import annotations

FIRST_NAMES = {
    "tune": (
        *("Alice", "Bernard", "Carla", "Dmitri", "Elena", "Farid", "Greta", "Hugo", "Ines", "Jonas"),
        *("Katya", "Liam", "Mona", "Nils", "Olga", "Pedro", "Rita", "Stefan", "Tara", "Viktor"),
    ),
    "test": (
        *("Amara", "Benedict", "Chloe", "Derek", "Esther", "Felix", "Gloria", "Hassan", "Irene", "Julian"),
        *("Kenji", "Lucia", "Marcus", "Nadia", "Oscar", "Priya", "Quentin", "Rosa", "Samuel", "Yvonne"),
        *("Walter", "Zoe", "Ahmed", "Beatrice", "Conrad", "Daphne"),
    ),
}
LAST_NAMES = {
    "tune": (
        *("Abbott", "Brunner", "Castillo", "Dahl", "Engel", "Fischer", "Gruber", "Hoffman", "Ivanov", "Jansen"),
        *("Keller", "Lindgren", "Moreau", "Nowak", "Olsen", "Pereira", "Romano", "Schmidt"),
    ),
    "test": (
        *("Adeyemi", "Blackwood", "Carter", "Dubois", "Eriksson", "Fontaine", "Greene", "Haddad", "Ito", "Johnson"),
        *("Kowalski", "Lopez", "Meyer", "Nakamura", "Okafor", "Petrov", "Quinn", "Rossi", "Singh", "Tanaka"),
        *("Underwood", "Vargas", "Weber", "Young"),
    ),
}
CITIES = {
    "tune": (
        *("Vienna", "Oslo", "Madrid", "Denver", "Toronto", "Prague", "Athens", "Dublin", "Naples", "Lyon"),
        *("Hamburg", "Seattle", "Geneva", "Warsaw"),
    ),
    "test": (
        *("Lisbon", "Chicago", "Nairobi", "Helsinki", "Mumbai", "Boston", "Sydney", "Berlin", "Osaka", "Austin"),
        *("Milan", "Cairo", "Bristol", "Montreal", "Zurich", "Krakow", "Porto", "Dallas"),
    ),
}
JOBS = {
    "tune": ("baker", "nurse", "pilot", "plumber", "translator", "librarian", "carpenter", "chemist", "lawyer"),
    "test": (
        *("teacher", "engineer", "dentist", "gardener", "journalist", "electrician", "architect", "photographer"),
        *("accountant", "firefighter", "musician", "pharmacist", "veterinarian", "programmer"),
    ),
}
DOMAINS = {
    "tune": ("example.org", "mailbox.net", "northwind.com"),
    "test": ("example.com", "postbox.org", "bluesky.net", "acme.com"),
}
STREETS = {
    "tune": ("Oak Street", "Mill Lane", "Station Road", "Garden Avenue", "Hill Road"),
    "test": ("Maple Avenue", "River Street", "Church Lane", "Park Road", "High Street", "King Street", "Lake Drive"),
}
COUNTRIES = {
    "tune": ("Norway", "Canada", "Greece", "Ireland", "Poland", "Mexico"),
    "test": ("Portugal", "Finland", "Kenya", "Australia", "Germany", "Japan", "Italy", "Egypt", "India"),
}
PRODUCTS = {
    "tune": ("desk lamp", "coffee grinder", "phone case", "garden hose", "wool blanket", "water bottle"),
    "test": (
        *("wireless mouse", "office chair", "electric kettle", "running shoes", "travel mug", "table tennis set"),
        *("bluetooth speaker", "rain jacket", "yoga mat", "desk organizer"),
    ),
}
THINGS = {
    "tune": ("marbles", "stickers", "pencils", "oranges", "coins", "cookies"),
    "test": ("apples", "books", "stamps", "cards", "shells", "candies", "buttons", "balloons", "seeds", "toys"),
}
ARTISTS = {
    "tune": ("Mozart", "The Beatles", "Nina Simone", "Daft Punk"),
    "test": ("Bach", "Queen", "Ella Fitzgerald", "Radiohead", "Miles Davis", "Adele", "Pink Floyd"),
}
