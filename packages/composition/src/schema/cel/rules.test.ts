import type { JsonObject, JsonValue } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { checkSchema, compileSchema } from "../compile.ts";
import { describeSchemaIssue, type SchemaIssue } from "../structural/issue.ts";
import { SchemaError } from "../structural/schema-error.ts";

const PROPERTIES: JsonObject = {
  a: { type: "integer" },
  d: { type: "number" },
  s: { type: "string" },
  l: { type: "array", items: { type: "integer" } },
  names: { type: "array", items: { type: "string" } },
  o: {
    type: "object",
    properties: { x: { type: "string" }, "foo-bar": { type: "integer" }, namespace: { type: "string" } },
  },
  m: { type: "object", additionalProperties: { type: "string" } },
  either: { "x-kubernetes-int-or-string": true },
  none: { type: "string", nullable: true },
  t: { type: "string", format: "date-time" },
  du: { type: "string", format: "duration" },
  by: { type: "string", format: "byte" },
  big: { type: "integer", format: "int64" },
  z: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
  one: { type: "object", additionalProperties: { type: "integer" } },
  list: { type: "array", items: { type: "object", properties: { v: { type: "integer" } } } },
  open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
};

const VALUE: JsonObject = {
  a: 5,
  d: 2,
  s: "héllo wörld",
  l: [1, 2, 3],
  names: ["x", "yy"],
  o: { x: "q", "foo-bar": 3, namespace: "ns" },
  m: JSON.parse('{"k1":"v1","constructor":"c","__proto__":"p"}') as JsonObject,
  either: "50%",
  none: null,
  t: "2024-01-02T03:04:05Z",
  du: "1h30m",
  by: "aGk=",
  big: 9007199254740993n,
  z: ["a", "b"],
  one: { other: 1 },
  open: { any: [1, 2.5] },
};

function validate(rule: JsonObject, value: JsonValue = VALUE, old?: JsonValue): SchemaIssue[] {
  const schema = compileSchema(schemaOf(rule));
  expect(schema.problems).toEqual([]);
  const wrapped = (spec: JsonValue): JsonObject => ({ spec });
  return schema.validate(wrapped(value), old === undefined ? undefined : wrapped(old));
}

function schemaOf(rule: JsonObject): JsonObject {
  return {
    type: "object",
    properties: { spec: { type: "object", properties: PROPERTIES, "x-kubernetes-validations": [rule] } },
  };
}

test.each([
  "self.a > 3 && self.a < 5.5",
  "self.d == 2.0 && self.d + 0.5 == 2.5",
  "self.big == 9007199254740993",
  "has(self.a) && !has(self.m.y)",
  "self.o.foo__dash__bar == 3",
  "self.o.__namespace__ == 'ns'",
  "has(self.o.namespace) && self.o.namespace == 'ns'",
  "self.m.k1 == 'v1' && self.m['constructor'] == 'c' && self.m['__proto__'] == 'p'",
  "'k1' in self.m && !('toString' in self.m)",
  "self.m.all(k, self.m[k].size() < 3)",
  "self.l.all(x, x > 0) && self.l.exists_one(x, x == 2)",
  "self.l.map(x, x * 2)[2] == 6 && self.l.filter(x, x > 1).size() == 2",
  "self.l.sum() == 6 && self.l.max() == 3 && self.l.min() == 1 && self.l.isSorted() && self.l.indexOf(2) == 1",
  "self.names.join('-') == 'x-yy' && self.names.indexOf('yy') == 1",
  "self.s.matches('^h.llo') && !self.s.matches('(a+)+$')",
  "'ab'.matches('^(?P<n>a)(?P<n>b)$') && 'ab'.find('(?<n>a)(?<n>b)') == 'ab'",
  "self.s.size() == 11 && self.s.contains('wör') && self.s.charAt(1) == 'é'",
  "self.s.replace('l', 'L') == 'héLLo wörLd' && self.s.replace('l', 'L', 1) == 'héLlo wörld'",
  "self.s.upperAscii() == 'HéLLO WöRLD' && 'ÄB'.lowerAscii() == 'Äb'",
  "self.s.find('l+') == 'll' && self.s.findAll('l+') == ['ll', 'l'] && self.s.findAll('l+', 1) == ['ll']",
  "type(self.either) == int ? self.either > 3 : self.either.endsWith('%')",
  "!has(self.none) && !self.?none.hasValue()",
  "self.t < timestamp('2025-01-01T00:00:00Z') && self.t.getFullYear() == 2024",
  "self.du == duration('90m') && self.du > duration('1h')",
  "self.by == b'hi'",
  "has(self.list[0].v) && !has(self.list.filter(i, i.v > 1)[0].v) || true",
  "has({'a': 1}.a) && !has({'a': 1}.b) && has(self.o.x)",
  "self.l.all(i, v, v == i + 1) && self.l.exists(i, v, i == 2 && v == 3) && self.l.existsOne(i, v, v > 2)",
  "self.l.transformList(i, v, i * v) == [0, 2, 6] && self.m.transformList(k, v, k == 'k1', v) == ['v1']",
  "self.names.transformMap(i, v, v.size()) == {0: 1, 1: 2} && self.names.transformMapEntry(i, v, {v: i}) == {'x': 0, 'yy': 1}",
  "sets.contains(self.names, ['x']) && sets.equivalent([1, 1, 2], [2, 1]) && !sets.intersects(self.l, [9])",
  "'%s-%d-%.1f-%x-%X-%o-%b'.format([self.o.x, self.a, self.d, 255, 'az', 8, true]) == 'q-5-2.0-ff-617A-10-1'",
  "!format.dns1123Label().validate('ab').hasValue() && format.dns1123Label().validate('A_b').value().size() == 1",
  "format.named('uuid').hasValue() && !format.named('nope').hasValue()",
  "semver('1.10.0').isGreaterThan(semver('1.2.3')) && !isSemver('1.2') && isSemver('v1.2', true) && semver('1.2.3-rc.1').isLessThan(semver('1.2.3'))",
  "optional.of(1).optMap(x, x + 1).value() == 2 && optional.none().orValue(3) == 3 && [?self.?o.?x, 'z'] == ['q', 'z']",
  "self.names.first().value() == 'x' && self.l[?9].or(optional.of(7)).value() == 7",
  "string(ip('2001:db8:0:0::1')) == '2001:db8::1' && ip.isCanonical('::1') && ip('224.0.0.1').isLinkLocalMulticast()",
  "'\\ufeff\\u0085 a b\\u00a0'.trim() == '\\ufeff\\u0085 a b' && '\\u0085 a b\\t'.trim() == 'a b'",
  "strings.quote('a\"b') == '\"a\\\\\"b\"' && 'a-b-c'.split('-', 2) == ['a', 'b-c'] && 'tacocat'.substring(4) == 'cat'",
  "timestamp('2024-03-31T01:30:00Z').getHours('Europe/Berlin') == 3 && self.t.getHours('-01:30') == 1",
  "1u + 2u == 3u && dyn(1) == dyn(1.0) && {1: 'a'}[dyn(1u)] == 'a' && b'\\xff'.size() == 1",
  "quantity('1.5Gi').isGreaterThan(quantity('1G')) && isQuantity('10m') && !isQuantity('10x')",
  "quantity('1k').asInteger() == 1000 && quantity('1').add(quantity('500m')) == quantity('1.5') && sign(quantity('-1')) == -1",
  "quantity('3').sub(1).compareTo(quantity('2')) == 0 && !quantity('1m').isInteger()",
  "!quantity('1000m').isInteger() && !quantity('1.0').isInteger() && !quantity('1.5Gi').isInteger() && !quantity('10E').isInteger() && quantity('2Ki').isInteger()",
  "!quantity('500m').add(quantity('500m')).isInteger() && quantity('1k').add(1).isInteger() && quantity('1e3').isInteger()",
  "isURL('https://a.b:80/x') && !isURL('x') && url('https://[::1]:80/x?a=1&a=2').getHostname() == '::1'",
  "url('https://a.b:80/x%20y?a=1&a=2').getHost() == 'a.b:80' && url('/p?a=1&a=2').getQuery() == {'a': ['1', '2']}",
  "url('https://a.b:80/x%20y').getEscapedPath() == '/x%20y' && url('https://a.b:80').getPort() == '80' && url('https://a').getScheme() == 'https'",
  "!isIP('::ffff:1.2.3.4') && isIP('::1') && !isIP('1.2.3.04') && ip('127.0.0.1').isLoopback() && ip('::1').family() == 6",
  "ip('10.0.0.1').isGlobalUnicast() && ip('fe80::1').isLinkLocalUnicast() && ip('::') == ip('0::0') && ip('::').isUnspecified()",
  "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsCIDR('10.0.0.0/7') && isCIDR('::/0')",
  "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').prefixLength() == 8 && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
  "self.?o.?x.orValue('z') == 'q' && self.?m.?y.orValue('z') == 'z'",
  "self.a in [1, 5] && self.l + [4] == [1, 2, 3, 4]",
  "!(self.m['absent'] in [])",
  "quantity('2').sub(1) == quantity('1') && quantity('1') != quantity('2').sub(1) && !(quantity('1') in [quantity('2').sub(1)])",
  "dyn(self.l) != 1 && [dyn(self.l)] == [dyn(1)] && [dyn(quantity('1'))].indexOf(dyn(1)) == -1",
  "self.z == ['b', 'a'] && [] + self.z == ['b', 'a'] && self.z in [['b', 'a']] && self.z + ['a'] == self.z",
  "dyn(self.open) == dyn(self.one)",
  "[] + self.l == self.l && self.l + [] == [1, 2, 3]",
])("%s holds", (rule) => {
  expect(validate({ rule })).toEqual([]);
});

test.each([
  ["self.a < 3", "failed rule: self.a < 3"],
  ["self.l[5] == 1", "index out of bounds evaluating rule: self.l[5] == 1"],
  ["self.a / 0 == 1", "division by zero evaluating rule: self.a / 0 == 1"],
  ["self.a + 9223372036854775807 > 0", /^integer overflow evaluating rule/],
  ["self.m.k9 == 'x'", /^no such key: k9 evaluating rule/],
  ["self.s.matches(self.s + '(')", /^invalid regular expression evaluating rule/],
  ["quantity('500m').sub(quantity('1500m')).asInteger() == -1", /^cannot convert value to integer evaluating rule/],
  ["sign(quantity(self.s)) == 1", /^not a quantity evaluating rule/],
  ["quantity('1') == quantity('2').sub(1)", /^no such overload evaluating rule/],
  ["[quantity('0').add(1)].all(x, x == x)", /^no such overload evaluating rule/],
  ["optional.of(quantity('1')) == optional.of(quantity('0').add(1))", /^no such overload evaluating rule/],
  ["dyn(quantity('1')) == dyn(ip('::1'))", /^no such overload evaluating rule/],
  ["dyn(self.l + []) == dyn(1)", /^no such overload evaluating rule/],
  ["dyn([] + self.l) == dyn('a')", /^no such overload evaluating rule/],
  ["[dyn(1)] + [dyn(self.l)] == [dyn(1), dyn(2)]", /^no such overload evaluating rule/],
  ["dyn(self.m) == dyn(1)", /^no such overload evaluating rule/],
  ["dyn(1) in dyn(self.m)", /^no such overload evaluating rule/],
  ["dyn(self.open) == dyn({'any': 1})", /^no such overload evaluating rule/],
  ["dyn(self.z) != dyn([self.m, self.m]) || true", /^hash of unhashable type evaluating rule/],
  ["duration(self.a) > duration('1s')", /^type conversion error from int to google.protobuf.Duration evaluating rule/],
])("%s fails in Kubernetes' words", (rule, message) => {
  const [issue, ...more] = validate({ rule });
  expect(more).toEqual([]);
  expect(issue).toMatchObject({
    path: "spec",
    reason: "Invalid",
    rule,
    message: typeof message === "string" ? message : expect.stringMatching(message),
  });
  expect(describeSchemaIssue(issue as SchemaIssue)).toMatch(/^spec: Invalid value: "object": /);
});

test("no failure quotes a value of the object", () => {
  const value: JsonObject = { s: "hunter2" };
  for (const call of [
    "bool(self.s)",
    "duration(self.s) > duration('1s')",
    "int(self.s) == 1",
    "timestamp(self.s) == timestamp(self.s)",
    "url(self.s) == url(self.s)",
    "timestamp('2024-01-01T00:00:00Z').getHours(self.s) == 1",
  ]) {
    const [issue] = validate({ rule: `${call} && true` }, value);
    expect(issue?.message).toMatch(/evaluating rule/);
    expect(issue?.message).not.toMatch(/hunter2/);
  }
});

test("message, messageExpression, reason and fieldPath are used", () => {
  expect(validate({ rule: "false", message: " no good " })).toMatchObject([{ message: "no good" }]);
  expect(validate({ rule: "false", messageExpression: "'a is ' + string(self.a)" })).toMatchObject([
    { message: "a is 5" },
  ]);
  expect(validate({ rule: "false", message: "plain", messageExpression: "self.m.nope" })).toMatchObject([
    { message: "plain" },
  ]);
  const map: JsonObject = {
    type: "object",
    additionalProperties: { type: "string" },
    "x-kubernetes-validations": [{ rule: "false", fieldPath: "['a']" }],
  };
  const checked = compileSchema({ type: "object", properties: { m: map } });
  expect(checked.validate({ m: {} }).map(({ path, at }) => [path, at])).toEqual([["m.[a]", ["m", "a"]]]);
  const [issue] = validate({ rule: "false", message: "m", reason: "FieldValueForbidden", fieldPath: ".m['a.b']" });
  expect(issue).toMatchObject({ reason: "Forbidden", at: ["spec", "m", "a.b"] });
  expect(describeSchemaIssue(issue as SchemaIssue)).toBe("spec.m[a.b]: Forbidden: m");
});

describe("rules with oldSelf", () => {
  const rule = "self.a >= oldSelf.a";

  test("are skipped without an old object", () => {
    expect(validate({ rule }, { a: 1 })).toEqual([]);
  });

  test("compare with the old object", () => {
    expect(validate({ rule }, { a: 2 }, { a: 1 })).toEqual([]);
    expect(validate({ rule }, { a: 1 }, { a: 2 })).toHaveLength(1);
  });

  test("with optionalOldSelf run without an old object", () => {
    const optional = { rule: "oldSelf.hasValue() ? self.a >= oldSelf.value().a : self.a == 1", optionalOldSelf: true };
    expect(validate(optional, { a: 1 })).toEqual([]);
    expect(validate(optional, { a: 2 })).toHaveLength(1);
    expect(validate(optional, { a: 2 }, { a: 1 })).toEqual([]);
  });

  test("find the old item of a map list by its keys, and of other lists not at all", () => {
    const list = (extra: JsonObject): JsonObject => ({
      type: "object",
      properties: {
        l: {
          type: "array",
          ...extra,
          items: {
            type: "object",
            properties: { k: { type: "string" }, v: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.v == oldSelf.v" }],
          },
        },
      },
    });
    const keyed = compileSchema(list({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] }));
    const before = {
      l: [
        { k: "a", v: 1 },
        { k: "b", v: 2 },
      ],
    };
    const after = {
      l: [
        { k: "b", v: 2 },
        { k: "a", v: 9 },
        { k: "c", v: 3 },
      ],
    };
    expect(keyed.validate(after, before).map(({ path }) => path)).toEqual(["l[1]"]);
    expect(compileSchema(list({})).validate(after, before)).toEqual([]);
  });
});

test("lists of type set and map are compared and added without order, and other lists with it", () => {
  const holds = (rule: string, extra: JsonObject, items: JsonObject, list: JsonValue): boolean => {
    const schema = compileSchema({
      type: "object",
      properties: { l: { type: "array", ...extra, items, "x-kubernetes-validations": [{ rule }] } },
    });
    expect(schema.problems).toEqual([]);
    return schema.validate({ l: list }).length === 0;
  };
  const text: JsonObject = { type: "string" };
  const set: JsonObject = { "x-kubernetes-list-type": "set" };
  expect(holds("self == ['b', 'a']", set, text, ["a", "b"])).toBe(true);
  expect(holds("self + ['a', 'c'] == ['c', 'b', 'a']", set, text, ["a", "b"])).toBe(true);
  expect(holds("['b', 'a'] == self", set, text, ["a", "b"])).toBe(false);
  expect(holds("self == ['b', 'a']", {}, text, ["a", "b"])).toBe(false);
  expect(holds("dyn(self) == 1", {}, text, ["a"])).toBe(false);
  expect(holds("dyn(self) != 1", {}, text, ["a"])).toBe(true);
  const item: JsonObject = {
    type: "object",
    required: ["k"],
    properties: { k: { type: "string" }, v: { type: "integer" } },
  };
  const keyed: JsonObject = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] };
  const list = [{ k: "a", v: 1 }, { k: "b" }];
  expect(holds("self == [self[1], self[0]]", keyed, item, list)).toBe(true);
  expect(holds("self == [self[1], self[0]]", {}, item, list)).toBe(false);
  expect(holds("(self + [self[0]]).size() == 2", keyed, item, list)).toBe(true);
});

test("a rule at the root can read names, but no other metadata", () => {
  const schema: JsonObject = {
    type: "object",
    properties: { metadata: { type: "object" }, spec: { type: "object" } },
    "x-kubernetes-validations": [{ rule: "self.metadata.name == 'n' && self.kind == 'K' && has(self.spec)" }],
  };
  const value = { apiVersion: "a/v1", kind: "K", metadata: { name: "n", labels: { a: "b" } }, spec: {} };
  expect(compileSchema(schema).validate(value)).toEqual([]);
});

test("rules of parts run with the part as self, unless it is null or has a wrong type", () => {
  const schema: JsonObject = {
    type: "object",
    properties: {
      m: {
        type: "object",
        additionalProperties: { type: "integer", "x-kubernetes-validations": [{ rule: "self > 1" }] },
      },
      n: { type: "string", nullable: true, "x-kubernetes-validations": [{ rule: "self == 'x'" }] },
    },
  };
  const { validate: check } = compileSchema(schema);
  expect(check({ m: { a: 1, b: 2 }, n: null }).map(({ path }) => path)).toEqual(["m[a]"]);
  expect(check({ m: { a: "s" }, n: "y" }).map(({ reason }) => reason)).toEqual(["Type"]);
});

test.each([
  ["1 +", /syntax error/],
  ["nope == 1", /undeclared reference to 'nope'/],
  ["1 + 'a' == 2", /no matching overload/],
  ["'a'", /must evaluate to a bool/],
  ["self.a.nope()", /undeclared reference to 'nope'/],
  ["self.nope == 1", /undefined field 'nope'/],
  ["duration(string('x')) > self.du", /invalid duration argument/],
  ["duration(dyn('x')) > self.du", /invalid duration argument/],
  ["int(dyn([1])) > self.a || int(dyn({})) > 0", /invalid int argument/],
  ["self.a == 'x'", /no matching overload for '_==_' applied to '\(int, string\)'/],
  ["!has(self.o.namespce)", /undefined field 'namespce'; did you mean namespace\?/],
  ["self.m.all(x, true) || self.m.all(k, self.o.z == k)", /undefined field 'z'/],
  ["self.items.all(i, i.nope == 1)", /undefined field 'items'/],
  ["self.list.exists(i, i.vv == 1)", /undefined field 'vv'/],
  [" ", /is empty/],
  [`self.s == '${"x".repeat(100_000)}'`, /longer than 100000/],
  [`${"(".repeat(500)}true${")".repeat(500)}`, /nested too deeply/],
  [`self.s${".optMap(a, a)".repeat(40)}`, /too many nested optMap/],
  [`${"self.s + ".repeat(10_000)}'a' == 'b'`, /nested too deeply/],
])("the rule %.40s is a problem of the schema, with its path", (rule, message) => {
  const schema = compileSchema(schemaOf({ rule }));
  expect(schema.problems).toEqual([
    expect.objectContaining({
      path: "properties.spec.x-kubernetes-validations[0].rule",
      message: expect.stringMatching(message),
    }),
  ]);
  expect(() => checkSchema(schemaOf({ rule }))).toThrow(SchemaError);
});

test("a rule that does not compile does not switch off the rest of the schema", () => {
  const schema: JsonObject = {
    type: "object",
    properties: {
      a: { type: "integer", maximum: 3, "x-kubernetes-validations": [{ rule: "nope(" }, { rule: "self > 1" }] },
    },
    "x-kubernetes-validations": [{ rule: "self.b == 1" }, { rule: "has(self.a)", message: "a is needed" }],
  };
  const { problems, validate: check } = compileSchema(schema);
  expect(problems.map(({ path }) => path)).toEqual([
    "x-kubernetes-validations[0].rule",
    "properties.a.x-kubernetes-validations[0].rule",
  ]);
  expect(check({}).map(({ message }) => message)).toEqual(["a is needed"]);
  expect(check({ a: 1 }).map(({ path }) => path)).toEqual(["a"]);
  expect(check({ a: 4 }).map(({ message }) => message)).toEqual(["a in body should be less than or equal to 3"]);
});

test("an undefined field at the root of a resource is a problem", () => {
  const schema = (rule: string): JsonObject => ({
    type: "object",
    properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
    "x-kubernetes-validations": [{ rule }],
  });
  expect(compileSchema(schema("self.sepc.size > 1")).problems).toMatchObject([
    { message: expect.stringContaining("undefined field 'sepc'; did you mean spec?") },
  ]);
  expect(compileSchema(schema("self.metadata.labels.a == 'b'")).problems).toHaveLength(1);
  expect(compileSchema(schema("self.spec.size > 1 && self.metadata.name != '' && self.kind != ''")).problems).toEqual(
    [],
  );
});

describe("hostile rules end", () => {
  const many: JsonObject = { l: Array.from({ length: 1000 }, (_, index) => index) };

  test.each([
    ["loops in loops", "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d >= 0))))"],
    ["loops that swallow the error", "self.l.exists(a, self.l.exists(b, self.l.exists(c, a + b + c < 0))) || true"],
    ["lists that grow", "self.l.map(a, self.l.map(b, self.l + self.l)).size() == 1"],
    ["long texts that are compared again and again", "self.l.all(a, self.l.all(b, self.s + 'x' != self.s + 'y'))"],
  ])("%s", (_, rule) => {
    const issues = validate({ rule }, { ...many, s: "x".repeat(100_000) });
    expect(issues).toMatchObject([{ message: expect.stringMatching(/cost budget/) }]);
  });

  test.each([
    ["trim", "self.s.trim() != ''", ` a${" ".repeat(1_500_000)}b `],
    ["getQuery", "url(self.s).getQuery()['a'].size() == 100000", `/?${"a&".repeat(100_000)}`],
  ])("%s takes linear time", (_, rule, s) => {
    expect(validate({ rule }, { s })).toEqual([]);
  });

  test.each(["self.s.charAt(0) != ''", "self.s != 'x'", "self.s.size() > 0", "!isURL(self.s)"])(
    "a small cost for each read of a long text: %s",
    (condition) => {
      const rule = `self.l.all(a, self.l.all(b, a > 100 || ${condition}))`;
      expect(validate({ rule }, { ...many, s: "y".repeat(3_000_000) })).toMatchObject([
        { message: expect.stringMatching(/cost budget/) },
      ]);
    },
  );

  test("a regular expression on a long text takes linear time", () => {
    expect(validate({ rule: "self.s.matches('^(a+)+$') || true" }, { s: `${"a".repeat(100_000)}!` })).toEqual([]);
  });

  test("joining many references to one text is bounded", () => {
    const rule = "self.l.map(a, self.s).join().size() > 0 && self.s.replace('x', self.s).size() > 0";
    expect(validate({ rule }, { l: many["l"] ?? [], s: "x".repeat(12_000) })).toMatchObject([
      { message: expect.stringMatching(/characters or items evaluating rule|cost budget/) },
    ]);
  });

  test("after a rule that exceeds its budget, no other runs", () => {
    const schema: JsonObject = {
      type: "object",
      properties: { l: PROPERTIES["l"] as JsonObject },
      "x-kubernetes-validations": [
        { rule: "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))" },
        { rule: "false" },
      ],
    };
    expect(compileSchema(schema).validate(many)).toHaveLength(1);
  });
});
