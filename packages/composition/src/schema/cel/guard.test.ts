import type { JsonObject } from "@xfn/json";
import { describe, expect, test, vi } from "vitest";
import { compileGuard, type GuardOutcome, type GuardState } from "./guard.ts";

const SECRET = "hunter2-hunter2";
const XR: JsonObject = {
  apiVersion: "example.org/v1",
  kind: "XDatabase",
  metadata: { name: "orders", namespace: "shop", labels: { "example.org/team": "shop" } },
  spec: {
    size: 3,
    ratio: 0.5,
    ha: true,
    big: 9_007_199_254_740_993n,
    password: SECRET,
    index: 41,
    list: [1, 2],
    none: null,
  },
};
const SERVER: JsonObject = { kind: "Server", status: { conditions: [{ type: "Ready", status: "True" }] } };

const state = (composite: JsonObject, resources: Record<string, JsonObject> = {}): GuardState => ({
  composite,
  resources: new Map(Object.entries(resources)),
});

function evaluate(when: string, desired: GuardState = state({})): GuardOutcome {
  const guard = compileGuard(when);
  if ("problem" in guard) throw new Error(guard.problem);
  return guard.evaluate({ observed: () => state(XR, { server: SERVER, "my-db": {} }), desired: () => desired });
}

describe("guards", () => {
  test.each([
    ["observed.composite.resource.spec.size > 2", true],
    ["observed.composite.resource.spec.size > 3", false],
    ["observed.composite.resource.spec.ratio < 1", true],
    ["observed.composite.resource.spec.ratio == 0.5", true],
    ["observed.composite.resource.spec.big == 9007199254740993", true],
    ["observed.composite.resource.spec.ha", true],
    ["observed.composite.resource.spec.none == null", true],
    ["observed.composite.resource.metadata.namespace == 'shop'", true],
    ["observed.composite.resource.metadata.labels['example.org/team'] == 'shop'", true],
    ["has(observed.composite.resource.spec.missing)", false],
    ["observed.composite.resource.?spec.?missing.orValue('x') == 'x'", true],
    ["'server' in observed.resources", true],
    ["'other' in observed.resources", false],
    ["has(observed.resources.server)", true],
    ["'my-db' in observed.resources && !('my-db' in desired.resources)", true],
    ["size(observed.resources) == 2", true],
    ["observed.resources.exists(name, name.startsWith('my'))", true],
    [
      "observed.resources['server'].resource.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
      true,
    ],
    ["size(desired.resources) == 0", true],
    ["has(desired.composite.resource.status)", false],
    ["true", true],
  ])("%s is %s", (when, holds) => {
    expect(evaluate(when)).toEqual({ holds });
  });

  test("say whether they read desired state, and read nothing else", () => {
    const observed = vi.fn<() => GuardState>(() => state(XR));
    const desired = vi.fn<() => GuardState>(() => state({}));
    const guard = compileGuard("observed.composite.resource.spec.size == 3");
    if ("problem" in guard) throw new Error(guard.problem);
    expect(guard.readsDesired).toBe(false);
    expect(guard.evaluate({ observed, desired })).toEqual({ holds: true });
    expect([observed.mock.calls.length, desired.mock.calls.length]).toEqual([1, 0]);
    expect(compileGuard("'a' in desired.resources")).toMatchObject({ readsDesired: true });
    expect(compileGuard("desired.composite == observed.composite || true")).toMatchObject({ readsDesired: true });
  });

  test.each([
    ["observed.composite.resource.spec.missing == 1", "no such key: missing"],
    [`observed.resources[observed.composite.resource.spec.password].resource.kind == ""`, "no such key"],
    ["observed.composite.resource.spec.list[observed.composite.resource.spec.index] == 1", "index out of bounds"],
    ["int(observed.composite.resource.spec.password) == 1", /conversion error/],
    ["bool(observed.composite.resource.spec.password)", /conversion error/],
    ["duration(observed.composite.resource.spec.password) > duration('1s')", /conversion error/],
    ["timestamp(observed.composite.resource.spec.password) > timestamp('2026-01-01T00:00:00Z')", /conversion error/],
    ["quantity(observed.composite.resource.spec.password).isGreaterThan(quantity('1'))", /quantity/],
    ["'x'.matches(observed.composite.resource.spec.password + '(')", /./],
    ["observed.composite.resource.spec.password + 1 == 2", /no such overload/],
    ["observed.composite.resource.spec.password", "its result is neither true nor false"],
    ["observed.composite.resource.spec[observed.composite.resource.spec.password] == 1", "no such key"],
    ["timestamp('2026-01-01T00:00:00Z').getHours(observed.composite.resource.spec.password) == 1", /./],
  ])("%s fails without a value in its message", (when, message) => {
    const outcome = evaluate(when);
    const failure = "failure" in outcome ? outcome.failure : "it did not fail";
    if (typeof message === "string") expect(failure).toBe(message);
    else expect(failure).toMatch(message);
    expect(failure).not.toContain("hunter2");
    expect(failure).not.toContain("41");
  });

  test("stop at a bound on their cost", () => {
    const list = Array.from({ length: 400 }, (_, index) => index);
    const when =
      "observed.composite.resource.l.all(a, observed.composite.resource.l.all(b, observed.composite.resource.l.all(c, a + b + c >= 0)))";
    const guard = compileGuard(when);
    if ("problem" in guard) throw new Error(guard.problem);
    const outcome = guard.evaluate({ observed: () => state({ l: list }), desired: () => state({}) });
    expect(outcome).toEqual({ failure: "it takes too many steps" });
  });

  test("convert only the entries that they read", () => {
    const read: string[] = [];
    const entry = (name: string): JsonObject =>
      new Proxy<JsonObject>({ kind: "A" }, { ownKeys: (target) => (read.push(name), Reflect.ownKeys(target)) });
    const guard = compileGuard("observed.resources['b'].resource.kind == 'A' && 'c' in observed.resources");
    if ("problem" in guard) throw new Error(guard.problem);
    const observed = state({}, { a: entry("a"), b: entry("b"), d: entry("d") });
    expect(guard.evaluate({ observed: () => observed, desired: () => state({}) })).toEqual({ holds: false });
    expect(new Set(read)).toEqual(new Set(["b"]));
  });
});

describe("values and types that share their parts", () => {
  const doubled = (start: string): string => start + ".map(a, [a, a])".repeat(40);

  test.each([
    ["==", `${doubled("[1]")} == ${doubled("[1]")}`],
    ["== of dyn", `dyn(${doubled("[1]")}) == dyn(${doubled("[1]")})`],
    ["in", `${doubled("[1]")} in [${doubled("[1]")}]`],
    ["format", `'%s'.format([${doubled("['a']")}]) == ''`],
    ["indexOf", `[${doubled("[1]")}].indexOf(${doubled("[1]")}) == 0`],
    ["sets.contains", `sets.contains(${doubled("[1]")}, ${doubled("[1]")})`],
  ])("end an evaluation: %s", (_, when) => {
    expect(evaluate(when)).toEqual({ failure: "it takes too many steps" });
  });

  test.each([
    ["maps", `[1]${".map(a, {a: a})".repeat(40)} == []`],
    ["lists", `[1]${".map(a, [a, a])".repeat(2000)} == []`],
  ])("end a compilation: %s", (_, when) => {
    expect(compileGuard(when)).toEqual({ problem: "has types that are too large" });
  });

  test("do not keep the next expression from being evaluated", () => {
    expect(evaluate(`${doubled("[1]")} == ${doubled("[1]")}`)).toHaveProperty("failure");
    expect(evaluate("[[1], [2]] == [[1], [2]]")).toEqual({ holds: true });
  });

  test("the longest expression is compiled", () => {
    const fields = Array.from({ length: 2000 }, () => "[observed.composite.resource.spec.x] == [1]");
    expect(compileGuard(fields.join(" || "))).not.toHaveProperty("problem");
  });
});
