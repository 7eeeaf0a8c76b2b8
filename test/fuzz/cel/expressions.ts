import type { Random } from "../../sweep/random.ts";

/** The types of generated expressions. */
export type Kind =
  | "bool"
  | "int"
  | "double"
  | "string"
  | "strings"
  | "ints"
  | "map"
  | "time"
  | "duration"
  | "bytes"
  | "dyn"
  | "optional"
  | "quantity"
  | "ip"
  | "cidr"
  | "url"
  | "semver";

type Make = (depth: number) => string;

/** Writes random expressions over the fields of the record (shapes.ts). */
export class Expressions {
  readonly #next: Random;
  #variables: { readonly name: string; readonly kind: Kind }[] = [];

  constructor(next: Random) {
    this.#next = next;
  }

  /** One of several items. */
  one<T>(items: readonly T[]): T {
    return items[Math.floor(this.#next() * items.length)] as T;
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  /** An expression of a type. Some are of another one, or have other mistakes. */
  of(kind: Kind, depth: number): string {
    if (this.chance(0.008)) return this.of(this.one(["bool", "int", "string", "strings", "dyn"]), depth);
    if (this.chance(0.004)) return this.one(["self.nope", "nope(1)", "self.name.nope()", "self.nested.enabeld", "1 +"]);
    const variables = this.#variables.filter((variable) => variable.kind === kind);
    if (variables.length > 0 && this.chance(0.5)) return this.one(variables).name;
    const makers = depth <= 0 || this.chance(0.15) ? this.#leaves[kind] : this.#inner[kind];
    return this.one(makers)(depth - 1);
  }

  #bind(kind: Kind, body: (name: string) => string): string {
    const name = this.one(["x", "y", "k", "item"]);
    this.#variables.push({ name, kind });
    const result = body(name);
    this.#variables.pop();
    return result;
  }

  #bindTwo(kinds: [Kind, Kind], body: (first: string, second: string) => string): string {
    this.#variables.push({ name: "i", kind: kinds[0] }, { name: "v", kind: kinds[1] });
    const result = body("i", "v");
    this.#variables.splice(-2);
    return result;
  }

  readonly #compare = (): string => this.one(["==", "!=", "<", "<=", ">", ">="]);

  readonly #text = (): string =>
    this.one([
      "''",
      "'a'",
      "'web-1'",
      "'10Gi'",
      "'TCP'",
      '"x"',
      "r'\\d+'",
      "'ünï'",
      "'10.0.0.1'",
      "'a,b'",
      "'1.2.3'",
      "'5'",
    ]);

  readonly #leaves: Readonly<Record<Kind, readonly Make[]>> = {
    bool: [
      () => this.one(["true", "false", "self.paused", "self.nested.enabled", "self.other.enabled"]),
      () =>
        `has(self.${this.one(["name", "port", "tags", "nested", "matches", "labels", "maybe", "resource", "open"])})`,
      () =>
        this.one([
          "has(self.matches[0].path)",
          "has(self.nested.inner.key)",
          "has(self.labels.app)",
          "has(self.ports[0].number)",
        ]),
    ],
    int: [
      () => this.one(["0", "1", "-3", "100", "0x1F", "9223372036854775807", "self.replicas", "self.min", "self.max"]),
      () =>
        this.one([
          "self.nested.limit",
          "self.numbers[0]",
          "self.counts.a",
          "self.counts['b']",
          "self.a__dot__b__slash__c",
        ]),
    ],
    double: [() => this.one(["0.0", "1.5", "-2.25", "1e3", "self.ratio", "self.ratios[0]", "double(self.replicas)"])],
    string: [
      () => this.#text(),
      () =>
        this.one([
          "self.name",
          "self.mode",
          "self.image",
          "self.free",
          "self.namespace",
          "self.foo__dash__bar",
          "self.maybe",
        ]),
      () =>
        this.one([
          "self.tags[0]",
          "self.labels.app",
          "self.labels['example.org/team']",
          "self.nested.size",
          "self.ports[0].protocol",
        ]),
      () =>
        this.one([
          "self.resource.kind",
          "self.resource.metadata.name",
          "self.matches[0].headers[0].value",
          "self.__namespace__",
        ]),
    ],
    strings: [() => this.one(["self.tags", "self.zones", "['a', 'b']", "[]", "['z1']", "['b', 'a']"])],
    ints: [() => this.one(["self.numbers", "[1, 2, 3]", "[3, 1]", "[]"])],
    map: [() => this.one(["self.labels", "{'a': 'b'}", "{}"])],
    time: [() => this.one(["self.since", "self.day", "timestamp('2024-01-01T00:00:00Z')", "timestamp(0)"])],
    duration: [() => this.one(["self.timeout", "duration('1h')", "duration('1.5s')", "duration('-3m')"])],
    bytes: [() => this.one(["self.data", "b'abc'", "bytes('x')", "b'\\xff'"])],
    dyn: [() => this.one(["self.port", "dyn(1)", "dyn('a')", "dyn(self.tags)"])],
    optional: [
      () =>
        this.one([
          "self.?name",
          "self.?maybe",
          "optional.none()",
          "optional.of('a')",
          "self.tags[?0]",
          "self.labels[?'app']",
        ]),
      () =>
        this.one([
          "self.?nested.?size",
          "self.?nested.size",
          "self.matches[?0].?path",
          "optional.ofNonZeroValue(self.name)",
        ]),
    ],
    quantity: [() => this.one(["quantity('500m')", "quantity('1Gi')", "quantity(self.nested.size)", "quantity('10')"])],
    ip: [() => this.one(["ip('10.0.0.1')", "ip('::1')", "ip('fe80::1')", "cidr('10.1.2.3/16').ip()", "ip(self.name)"])],
    cidr: [() => this.one(["cidr('10.0.0.0/8')", "cidr('2001:db8::/32')", "cidr('192.168.1.7/24')"])],
    url: [
      () =>
        this.one([
          "url('https://a.example:8080/p%20q?x=1&x=2')",
          "url('/path?a=b')",
          "url('http://[::1]/')",
          "url(self.image)",
        ]),
    ],
    semver: [() => this.one(["semver('1.2.3')", "semver('1.0.0-rc.1')", "semver('v1.2', true)", "semver(self.name)"])],
  };

  readonly #inner: Readonly<Record<Kind, readonly Make[]>> = {
    bool: [
      (d) => `${this.of("bool", d)} ${this.one(["&&", "||"])} ${this.of("bool", d)}`,
      (d) => `!(${this.of("bool", d)})`,
      (d) => `(${this.of("bool", d)} ? ${this.of("bool", d)} : ${this.of("bool", d)})`,
      (d) => `${this.of("int", d)} ${this.#compare()} ${this.of("int", d)}`,
      (d) => `${this.of("double", d)} ${this.#compare()} ${this.of(this.one(["double", "int"]), d)}`,
      (d) => `${this.of("string", d)} ${this.#compare()} ${this.of("string", d)}`,
      (d) => `${this.of("string", d)} in ${this.of(this.one(["strings", "map"]), d)}`,
      (d) => `${this.of("int", d)} in ${this.of("ints", d)}`,
      (d) => `${this.of("string", d)}.${this.one(["startsWith", "endsWith", "contains"])}(${this.of("string", d)})`,
      (d) => `${this.of("string", d)}.matches('${this.one(["^[a-z0-9-]+$", "\\\\d+", "^$", "(a|b)*", "^.{1,5}$"])}')`,
      (d) => `${this.of("strings", d)} ${this.one(["==", "!="])} ${this.of("strings", d)}`,
      (d) => this.#quantified(d),
      (d) => this.#quantifiedTwo(d),
      (d) =>
        `sets.${this.one(["contains", "equivalent", "intersects"])}(${this.of("strings", d)}, ${this.of("strings", d)})`,
      (d) => `${this.of("time", d)} ${this.#compare()} ${this.of("time", d)}`,
      (d) => `${this.of("duration", d)} ${this.#compare()} ${this.of("duration", d)}`,
      (d) => `${this.of("optional", d)}.hasValue()`,
      (d) => `${this.of("optional", d)}.orValue(${this.of("string", d)}) == ${this.of("string", d)}`,
      (d) => `${this.of("quantity", d)}.${this.one(["isGreaterThan", "isLessThan"])}(${this.of("quantity", d)})`,
      (d) =>
        `${this.one(["isQuantity", "isIP", "isCIDR", "isURL", "isSemver", "ip.isCanonical"])}(${this.of("string", d)})`,
      (d) =>
        `${this.of("ip", d)}.${this.one(["isLoopback", "isGlobalUnicast", "isUnspecified", "isLinkLocalUnicast", "isLinkLocalMulticast"])}()`,
      (d) => `${this.of("cidr", d)}.containsIP(${this.of(this.one(["ip", "string"]), d)})`,
      (d) => `${this.of("cidr", d)}.containsCIDR(${this.of("cidr", d)})`,
      (d) => `${this.of("semver", d)}.${this.one(["isGreaterThan", "isLessThan"])}(${this.of("semver", d)})`,
      (d) =>
        `${this.of(this.one(["ip", "cidr", "url", "semver", "quantity", "bytes"]), d)} == ${this.of(this.one(["ip", "cidr", "url", "semver", "quantity", "bytes"]), d)}`,
      (d) =>
        `!format.${this.one(["dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "labelValue", "uri", "uuid", "byte", "date", "datetime", "dns1123LabelPrefix", "nope"])}().validate(${this.of("string", d)}).hasValue()`,
      (d) => `format.named('${this.one(["dns1123Label", "uuid", "nope"])}').hasValue() == ${this.of("bool", d)}`,
      (d) => `type(${this.of("dyn", d)}) == ${this.one(["int", "string", "list", "bool"])}`,
      (d) => `${this.of("dyn", d)} == ${this.of(this.one(["int", "string", "dyn"]), d)}`,
      (d) => `${this.of("dyn", d)} ${this.#compare()} ${this.of("int", d)}`,
      (d) => `${this.of(this.one(["strings", "ints"]), d)}.isSorted()`,
      () => `self.nested ${this.one(["==", "!="])} self.${this.one(["nested", "other"])}`,
      (d) => `${this.of("map", d)} == ${this.of("map", d)}`,
    ],
    int: [
      (d) => `${this.of("int", d)} ${this.one(["+", "-", "*", "/", "%"])} ${this.of("int", d)}`,
      (d) => `size(${this.of(this.one(["string", "strings", "map", "ints", "bytes"]), d)})`,
      (d) => `${this.of(this.one(["string", "strings", "map"]), d)}.size()`,
      (d) => `int(${this.of(this.one(["double", "string", "time", "int"]), d)})`,
      (d) => `${this.of("string", d)}.${this.one(["indexOf", "lastIndexOf"])}(${this.of("string", d)})`,
      (d) => `${this.of("ints", d)}.${this.one(["sum", "min", "max"])}()`,
      (d) => `${this.of("ints", d)}.${this.one(["indexOf", "lastIndexOf"])}(${this.of("int", d)})`,
      (d) => `${this.of("ints", d)}[${this.of("int", d)}]`,
      (d) =>
        `${this.of("time", d)}.${this.one(["getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfYear", "getDayOfWeek", "getHours", "getMinutes", "getSeconds", "getMilliseconds"])}(${this.one(["", "", "'+02:00'", "'Europe/Berlin'"])})`,
      (d) => `${this.of("duration", d)}.${this.one(["getHours", "getMinutes", "getSeconds", "getMilliseconds"])}()`,
      (d) => `${this.of("quantity", d)}.${this.one(["asInteger()", "compareTo(quantity('1'))", "sign()"])}`,
      (d) => `${this.of("cidr", d)}.prefixLength()`,
      (d) => `${this.of("ip", d)}.family()`,
      (d) => `${this.of("semver", d)}.${this.one(["major()", "minor()", "patch()", "compareTo(semver('1.0.0'))"])}`,
      (d) => `(${this.of("bool", d)} ? ${this.of("int", d)} : ${this.of("int", d)})`,
      (d) => `-(${this.of("int", d)})`,
    ],
    double: [
      (d) => `${this.of("double", d)} ${this.one(["+", "-", "*", "/"])} ${this.of("double", d)}`,
      (d) => `double(${this.of(this.one(["int", "string"]), d)})`,
      () => `self.ratios.${this.one(["sum", "min", "max"])}()`,
      (d) => `${this.of("quantity", d)}.asApproximateFloat()`,
    ],
    string: [
      (d) => `${this.of("string", d)} + ${this.of("string", d)}`,
      (d) => `${this.of("string", d)}.${this.one(["lowerAscii", "upperAscii", "trim"])}()`,
      (d) => `${this.of("string", d)}.substring(${this.of("int", d)})`,
      (d) => `${this.of("string", d)}.substring(0, ${this.one(["1", "2", "99"])})`,
      (d) => `${this.of("string", d)}.charAt(${this.one(["0", "1", "5"])})`,
      (d) =>
        `${this.of("string", d)}.replace(${this.of("string", d)}, ${this.of("string", d)}${this.one(["", ", 1", ", -1", ", 0"])})`,
      (d) => `${this.of("strings", d)}.join(${this.one(["", "','", "'-'"])})`,
      (d) => `string(${this.of(this.one(["int", "double", "bool", "time", "duration", "bytes", "string"]), d)})`,
      (d) => `string(${this.of(this.one(["ip", "cidr"]), d)})`,
      (d) =>
        `'%s-%d-%s'.format([${this.of("string", d)}, ${this.of("int", d)}, ${this.of(this.one(["bool", "double", "strings", "duration", "time", "map"]), d)}])`,
      (d) =>
        `'%.2f|%e|%x|%X|%o|%b'.format([${this.of("double", d)}, ${this.of("double", d)}, ${this.of("int", d)}, ${this.of("string", d)}, 8, ${this.of("bool", d)}])`,
      (d) => `strings.quote(${this.of("string", d)})`,
      (d) => `${this.of("string", d)}.find('${this.one(["[a-z]+", "\\\\d+", "x"])}')`,
      (d) => `${this.of("url", d)}.${this.one(["getScheme", "getHost", "getHostname", "getPort", "getEscapedPath"])}()`,
      (d) => `${this.of("optional", d)}.orValue(${this.of("string", d)})`,
      (d) => `(${this.of("bool", d)} ? ${this.of("string", d)} : ${this.of("string", d)})`,
      (d) => `${this.of("strings", d)}[${this.one(["0", "1"])}]`,
    ],
    strings: [
      (d) => `${this.of("strings", d)} + ${this.of("strings", d)}`,
      (d) => `${this.of("string", d)}.split(${this.one(["','", "''", "'.'", "'-', 2", "'a', 0"])})`,
      (d) => this.#bind("string", (name) => `${this.of("strings", d)}.filter(${name}, ${this.of("bool", d)})`),
      (d) => this.#bind("string", (name) => `${this.of("strings", d)}.map(${name}, ${this.of("string", d)})`),
      (d) =>
        this.#bind(
          "string",
          (name) => `${this.of("strings", d)}.map(${name}, ${this.of("bool", d)}, ${this.of("string", d)})`,
        ),
      (d) =>
        this.#bindTwo(
          ["int", "string"],
          (i, v) => `${this.of("strings", d)}.transformList(${i}, ${v}, ${this.of("string", d)})`,
        ),
      (d) =>
        this.#bindTwo(
          ["string", "string"],
          (i, v) => `${this.of("map", d)}.transformList(${i}, ${v}, ${this.of("bool", d)}, ${this.of("string", d)})`,
        ),
      (d) => `${this.of("string", d)}.findAll('${this.one(["[a-z]", "\\\\d"])}'${this.one(["", ", 2"])})`,
      (d) => `[${this.of("string", d)}, ${this.of("string", d)}]`,
      (d) => `[?${this.of("optional", d)}, ${this.of("string", d)}]`,
      (d) => `${this.of("url", d)}.getQuery()[${this.one(["'x'", "'a'"])}]`,
      () => `self.ports.map(p, p.name)`,
    ],
    ints: [
      (d) => `${this.of("ints", d)} + ${this.of("ints", d)}`,
      (d) => this.#bind("int", (name) => `${this.of("ints", d)}.map(${name}, ${this.of("int", d)})`),
      (d) => this.#bind("string", (name) => `${this.of("strings", d)}.map(${name}, ${this.of("int", d)})`),
      (d) => `[${this.of("int", d)}, ${this.of("int", d)}]`,
      () => `self.ports.map(p, p.number)`,
    ],
    map: [
      (d) =>
        this.#bindTwo(
          ["string", "string"],
          (i, v) => `${this.of("map", d)}.transformMap(${i}, ${v}, ${this.of("string", d)})`,
        ),
      (d) =>
        this.#bindTwo(
          ["int", "string"],
          (i, v) => `${this.of("strings", d)}.transformMapEntry(${i}, ${v}, {${v}: ${this.of("string", d)}})`,
        ),
      (d) => `{${this.of("string", d)}: ${this.of("string", d)}, 'z': ${this.of("string", d)}}`,
      (d) => `{?'a': ${this.of("optional", d)}}`,
    ],
    time: [
      (d) => `${this.of("time", d)} ${this.one(["+", "-"])} ${this.of("duration", d)}`,
      (d) => `timestamp(${this.of("string", d)})`,
    ],
    duration: [
      (d) => `${this.of("duration", d)} ${this.one(["+", "-"])} ${this.of("duration", d)}`,
      (d) => `${this.of("time", d)} - ${this.of("time", d)}`,
      (d) => `duration(${this.of("string", d)})`,
    ],
    bytes: [(d) => `bytes(${this.of("string", d)})`, (d) => `${this.of("bytes", d)} + ${this.of("bytes", d)}`],
    dyn: [(d) => `dyn(${this.of(this.one(["int", "string", "bool", "ints"]), d)})`, () => "self.port"],
    optional: [
      (d) => `${this.of("optional", d)}.or(${this.of("optional", d)})`,
      (d) => this.#bind("string", (name) => `${this.of("optional", d)}.optMap(${name}, ${this.of("string", d)})`),
      (d) => this.#bind("string", (name) => `${this.of("optional", d)}.optFlatMap(${name}, ${this.of("optional", d)})`),
      (d) => `optional.of(${this.of("string", d)})`,
      (d) => `${this.of("strings", d)}[?${this.of("int", d)}]`,
      (d) => `${this.of("strings", d)}.${this.one(["first", "last"])}()`,
    ],
    quantity: [
      (d) => `${this.of("quantity", d)}.${this.one(["add", "sub"])}(${this.of(this.one(["quantity", "int"]), d)})`,
    ],
    ip: [(d) => `ip(${this.of("string", d)})`, (d) => `${this.of("cidr", d)}.ip()`],
    cidr: [(d) => `${this.of("cidr", d)}.masked()`, (d) => `cidr(${this.of("string", d)})`],
    url: [(d) => `url(${this.of("string", d)})`],
    semver: [(d) => `semver(${this.of("string", d)}${this.one(["", ", true"])})`],
  };

  #quantified(d: number): string {
    const macro = this.one(["all", "exists", "exists_one", "existsOne"]);
    return this.one<() => string>([
      () => this.#bind("string", (name) => `${this.of("strings", d)}.${macro}(${name}, ${this.of("bool", d)})`),
      () => this.#bind("int", (name) => `${this.of("ints", d)}.${macro}(${name}, ${this.of("bool", d)})`),
      () => this.#bind("string", (name) => `${this.of("map", d)}.${macro}(${name}, ${this.of("bool", d)})`),
      () => `self.ports.${macro}(p, p.number ${this.#compare()} ${this.of("int", d)})`,
      () => `self.matches.${macro}(m, has(m.path) && m.path == ${this.of("string", d)})`,
    ])();
  }

  #quantifiedTwo(d: number): string {
    const macro = this.one(["all", "exists", "exists_one", "existsOne"]);
    return this.one<() => string>([
      () =>
        this.#bindTwo(
          ["int", "string"],
          (i, v) => `${this.of("strings", d)}.${macro}(${i}, ${v}, ${this.of("bool", d)})`,
        ),
      () =>
        this.#bindTwo(
          ["string", "string"],
          (i, v) => `${this.of("map", d)}.${macro}(${i}, ${v}, ${this.of("bool", d)})`,
        ),
    ])();
  }
}
