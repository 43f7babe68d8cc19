"""ClickBench's table of 105 columns, a web site's log of visits, with rows of our own: scripts/bench --hits takes the real file.

Names and types of the columns are those of ClickBench (clickbench/create.sql).  Values are made after what the names say: most are
small numbers, every fourth column is a text, and most of those are empty.  The file is in COPY's text format, as the real one.
"""
import datetime
import os
import re

BATCH = 20_000

# how values are made, and of which columns
KINDS = """
counted  WatchID
hash     FUniqID RefererHash URLHash
user     UserID
none     ParamPrice
any      ClientIP IPNetworkID HID RemoteIP
code     CounterID RegionID RefererRegionID URLRegionID CodeVersion CLID
seldom   SilverlightVersion3 WindowName OpenerName
millis   SendTiming DNSTiming ConnectTiming ResponseStartTiming ResponseEndTiming FetchTiming
flag     JavaEnable GoodEvent CounterClass IsRefresh CookieEnable JavascriptEnable IsMobile IsArtifical IsLink IsDownload IsNotBounce
flag     IsOldCounter IsEvent IsParameter DontCountHits WithHash HasGCLID
small    OS UserAgent FlashMajor FlashMinor NetMajor NetMinor UserAgentMajor MobilePhone TraficSourceID SearchEngineID AdvEngineID Age Sex
small    Income Interests Robotness HistoryLength SilverlightVersion1 SilverlightVersion2 SilverlightVersion4 HTTPError
small    SocialSourceNetworkID ParamCurrencyID
wide     RefererCategoryID URLCategoryID ResolutionWidth ResolutionHeight ResolutionDepth WindowClientWidth WindowClientHeight ClientTimeZone
time     EventTime ClientEventTime LocalEventTime
day      EventDate
letter   HitColor
word     UserAgentMinor FlashMinor2 PageCharset BrowserLanguage BrowserCountry
title    Title
address  URL Referer
rare     MobilePhoneModel Params SearchPhrase OriginalURL SocialNetwork SocialAction SocialSourcePage ParamOrderID ParamCurrency
rare     OpenstatServiceName OpenstatCampaignID OpenstatAdID OpenstatSourceID UTMSource UTMMedium UTMCampaign UTMContent UTMTerm FromTag
"""
KIND = {name: kind for kind, *names in map(str.split, KINDS.strip().splitlines()) for name in names}

with open(os.path.join(os.path.dirname(__file__), "clickbench", "create.sql"), encoding="utf-8") as f:
    TABLE = f.read().partition("(")[2].rpartition(")")[0]
COLUMNS = re.findall(r"(\w+) ([a-z]+(?:\(\d+\))?) NOT NULL", TABLE)


def makers(rnd):
    """kind -> what makes so many values of it"""
    words = ["".join(rnd.choices("abcdefghijklmnopqrstuvwxyz", k=rnd.randrange(2, 9))) for _ in range(5000)]
    spoken = ["".join(rnd.choices("абвгдежзиклмнопрстуфхцчшыьэюя", k=rnd.randrange(2, 11))) for _ in range(5000)]
    titles = [" ".join(rnd.choices(spoken, k=rnd.randrange(1, 9))) for _ in range(20_000)] + [""]
    hosts = [f"http://{rnd.choice(words)}.{rnd.choice(words)}.example/" for _ in range(2000)]
    pages = ["/".join(rnd.choices(words, k=rnd.randrange(1, 5))) for _ in range(20_000)]
    users = [str(rnd.getrandbits(62)) for _ in range(30_000)]
    start = datetime.datetime(2013, 7, 1)
    # of a second, as text: one value for all columns of a row that say when it was
    seconds = [str(start + datetime.timedelta(seconds=s)) for s in range(0, 30 * 86_400, 7)]

    def numbers(*choices, often=()):
        values = [*map(str, choices), *("0" for _ in often)]
        return lambda k: rnd.choices(values, k=k)
    return {
        "any": lambda k: [str(n - (1 << 30)) for n in map(rnd.getrandbits, [31] * k)],
        "hash": lambda k: [str(n - (1 << 62)) for n in map(rnd.getrandbits, [63] * k)],
        "user": lambda k: rnd.choices(users, k=k),
        "none": numbers(0),
        "code": numbers(*range(0, 10_000, 3)),
        "seldom": numbers(*range(1, 200), often=range(2000)),
        "millis": numbers(*range(0, 3000, 7), often=range(400)),
        "flag": numbers(0, 0, 1),
        "small": numbers(*range(1, 60), often=range(60)),
        "wide": numbers(*range(100, 2000, 13), often=range(20)),
        "time": lambda k: rnd.choices(seconds, k=k),
        "letter": lambda k: rnd.choices("ETgFC5", k=k),
        "word": lambda k: rnd.choices(words, k=k),
        "title": lambda k: rnd.choices(titles, k=k),
        "address": lambda k: [f"{host}{page}?id={n}" for host, page, n in zip(
            rnd.choices(hosts, k=k), rnd.choices(pages, k=k), rnd.choices(range(1_000_000), k=k))],
        # one of fifty is not empty
        "rare": lambda k: rnd.choices(words[:100] + [""] * 4900, k=k),
    }


def clickbench(rnd, rows):
    make = makers(rnd)
    for first in range(0, rows, BATCH):
        k = min(BATCH, rows - first)
        made = {}
        for name, _ in COLUMNS:
            kind = KIND[name]
            if kind == "counted":
                made[name] = [str(4_600_000_000_000_000_000 + first + i) for i in range(k)]
            elif kind == "day":
                made[name] = [time[:10] for time in made["EventTime"]]
            else:
                made[name] = make[kind](k)
        yield "".join("\t".join(row) + "\n" for row in zip(*made.values()))
