import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { desired, io, results } from "../../testing/arbitraries.ts";
import { accumulate } from "./accumulate.ts";
import type { Observed, Result } from "./functionio.ts";
import { entryState } from "./overlay.ts";

const OBSERVED: Observed = {
  composite: { resource: { apiVersion: "v1", kind: "X", metadata: { name: "x" }, spec: { n: 1 } } },
  resources: [
    { name: "a", resource: { apiVersion: "v1", kind: "A", status: { ready: true } } },
    { name: "b", resource: { apiVersion: "v1", kind: "B" }, connectionDetails: [{ name: "u", value: "v" }] },
  ],
};

describe("laws", () => {
  test("a step that returns its input changes nothing and causes no warning", () => {
    fc.assert(
      fc.property(desired, results("Normal", "Warning"), (state, said) => {
        const given = io({ desired: state, results: said, observed: OBSERVED });
        const after = accumulate(given, structuredClone(given), "s");
        expect(after.desired).toEqual(state);
        expect(after.results).toEqual(said);
        expect(after.added).toEqual([]);
        expect(after.warnings).toEqual([]);
        expect(after.fatal).toBeUndefined();
      }),
    );
  });

  test("earlier results are a prefix of the results after any step", () => {
    fc.assert(
      fc.property(results("Normal", "Warning"), results("Normal", "Warning", "Fatal"), (earlier, returned) => {
        const after = accumulate(io({ results: earlier }), io({ results: returned }), "s");
        expect(after.results.slice(0, earlier.length)).toEqual(earlier);
        expect(after.results.slice(earlier.length)).toEqual(after.added);
      }),
    );
  });

  test("results that a step passes on are not said twice", () => {
    fc.assert(
      fc.property(results("Normal", "Warning"), results("Normal", "Warning", "Fatal"), (earlier, added) => {
        const after = accumulate(io({ results: earlier }), io({ results: [...earlier, ...added] }), "s");
        expect(after.results).toEqual([...earlier, ...added]);
      }),
    );
  });

  test("each entry is in exactly one state, and a dropped one is absent and named", () => {
    fc.assert(
      fc.property(desired, desired, (before, after) => {
        const { desired: now, warnings } = accumulate(io({ desired: before }), io({ desired: after }), "my-step");
        expect(now).toEqual(after);
        for (const { name } of before.resources ?? []) {
          const warned = warnings.some(({ message }) => message.includes(`"${name}"`) && message.includes("my-step"));
          expect(warned).toBe(entryState(now, name) === "Absent");
        }
      }),
    );
  });

  test("the first fatal result counts", () => {
    const said: Result[] = [
      { severity: "Warning", message: "w" },
      { severity: "Error", message: "first" },
      { severity: "Fatal", message: "second" },
    ];
    expect(accumulate(io({}), io({ results: said }), "s").fatal).toEqual({ severity: "Error", message: "first" });
  });
});

describe("observed", () => {
  test.each<[string, Observed]>([
    ["left out", {}],
    ["empty, as Go prints it", { composite: {}, resources: [] }],
    ["null inside, as Go prints it", { composite: { resource: null } } as unknown as Observed],
    ["unmodified", structuredClone(OBSERVED)],
    ["unmodified with empty lists added", { ...OBSERVED, composite: { ...OBSERVED.composite, connectionDetails: [] } }],
  ])("%s: no warning", (_name, observed) => {
    expect(accumulate(io({ observed: OBSERVED }), io({ observed }), "s").warnings).toEqual([]);
  });

  test.each<[string, (observed: Observed) => void, string]>([
    [
      "a field of the XR",
      (o) => ((o.composite?.resource as { spec: { n: number } }).spec.n = 2),
      "observed.composite.resource.spec.n",
    ],
    [
      "a status",
      (o) => Object.assign(o.resources?.[0]?.resource ?? {}, { status: { ready: false } }),
      "observed.resources[0].resource.status.ready",
    ],
    ["a resource that is gone", (o) => o.resources?.pop(), "observed.resources[1]"],
    ["a resource that is new", (o) => o.resources?.push({ name: "c", resource: {} }), "observed.resources[2]"],
    [
      "a connection detail",
      (o) => o.resources?.[1]?.connectionDetails?.splice(0),
      "observed.resources[1].connectionDetails",
    ],
    ["an unknown field", (o) => Object.assign(o, { extra: 1 }), "observed.extra"],
  ])("%s: a warning that names step and path", (_name, change, path) => {
    const observed = structuredClone(OBSERVED);
    change(observed);
    const { warnings } = accumulate(io({ observed: OBSERVED }), io({ observed }), "my-step");
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.severity).toBe("Warning");
    expect(warnings[0]?.message).toContain("my-step");
    expect(warnings[0]?.message).toContain(`${path};`);
  });

  test("an integer that a function rounded is a difference, the same integer written otherwise is not", () => {
    const given = (n: number | bigint): Observed => ({ composite: { resource: { n } } });
    const warnings = (n: number | bigint): number =>
      accumulate(io({ observed: given(9007199254740993n) }), io({ observed: given(n) }), "s").warnings.length;
    expect(warnings(9007199254740993n)).toBe(0);
    expect(warnings(9007199254740992)).toBe(1);
  });
});

describe("desired", () => {
  test("a step that returns no desired state drops every entry, and each is named", () => {
    const given = io({ desired: { composite: { resource: { kind: "X" } }, resources: [{ name: "a", resource: {} }] } });
    const { desired: now, warnings } = accumulate(given, io({}), "s");
    expect(now).toEqual({});
    expect(warnings.map(({ message }) => /desired\.composite|"a"/.exec(message)?.[0])).toEqual([
      "desired.composite",
      '"a"',
    ]);
  });

  test("after a fatal result nothing is lost by dropping, so nothing is said about it", () => {
    const given = io({ desired: { resources: [{ name: "a", resource: {} }] } });
    expect(accumulate(given, io({ results: [{ severity: "Fatal", message: "x" }] }), "s").warnings).toEqual([]);
  });

  test("a flood of dropped entries is cut off", () => {
    const resources = Array.from({ length: 50 }, (_, i) => ({ name: `r${i}`, resource: {} }));
    const { warnings } = accumulate(io({ desired: { resources } }), io({}), "s");
    expect(warnings).toHaveLength(21);
    expect(warnings.at(-1)?.message).toContain("30 more");
  });
});

test("comparing results takes linear time, even if they differ in one field only", () => {
  // A comparison of each with each would take hours.
  const many = (reason: string): Result[] =>
    Array.from({ length: 200_000 }, (_, at) => ({ severity: "Warning", message: "again", reason: `${reason}${at}` }));
  const { added } = accumulate(io({ results: many("a") }), io({ results: many("b") }), "s");
  expect(added).toHaveLength(200_000);
});

test("a copy of an earlier result is not added, in any order of its fields", () => {
  const earlier: Result[] = [{ severity: "Warning", message: "m", reason: "r" }];
  const copy: Result = { reason: "r", message: "m", severity: "Warning" };
  expect(accumulate(io({ results: earlier }), io({ results: [copy, copy] }), "s").added).toEqual([copy]);
});
