import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { type Change, violations } from "./history.ts";
import { differences, snapshot } from "./snapshot.ts";

// Tests that the checks of the sweep find what they must find.

const ID = "r0001";

function object(kind: string, name: string, uid: string, more: JsonObject = {}, metadata: JsonObject = {}): LiveObject {
  const apiVersion = kind === "XThing" ? "sweep.example.org/v1" : "v1";
  return { apiVersion, kind, metadata: { name, uid, resourceVersion: "1", ...metadata }, ...more } as LiveObject;
}

const owner = (uid: string, name: string): JsonObject => ({
  ownerReferences: [{ apiVersion: "sweep.example.org/v1", kind: "XThing", name, uid, controller: true }],
});
const composed = (name: string, uid: string, entry: string, of = "x", data: JsonObject = {}): LiveObject =>
  object(
    "ConfigMap",
    name,
    uid,
    { data },
    {
      annotations: { "crossplane.io/composition-resource-name": entry },
      ...owner(of, `${ID}-x`),
    },
  );
const composite = (references: readonly string[], metadata: JsonObject = { finalizers: ["f"] }): LiveObject => {
  const resourceRefs = references.map((name) => ({ apiVersion: "v1", kind: "ConfigMap", name }));
  return object("XThing", `${ID}-x`, "x", { spec: { resourceRefs } }, metadata);
};

test("an Operation that runs again without a count, or after its end, is found", () => {
  const operation = (status: JsonObject): LiveObject => object("Operation", `${ID}-o`, "o", { status });
  const found = (...states: readonly JsonObject[]): string[] =>
    violations(
      states.map((status, index): Change => {
        const type = index === 0 ? "ADDED" : "MODIFIED";
        return { version: BigInt(index), type, object: operation(status) };
      }),
    );
  const running = (attempts: number, failures: number): JsonObject => ({ attempts, failures });
  expect(found({}, running(1, 0), running(2, 1))).toEqual([]);
  expect(found({}, running(1, 0), running(2, 0))).toEqual([expect.stringContaining("attempt 2 after 0 failures")]);
  const ended = { ...running(1, 0), conditions: [{ type: "Succeeded", status: "True" }] };
  expect(found({}, running(1, 0), ended, running(2, 1))).toEqual([expect.stringContaining("after its end")]);
});

describe("snapshots", () => {
  const run = (id: string, uid: string, names: readonly string[], size = "small"): LiveObject[] => {
    const resourceRefs = names.map((name) => ({ apiVersion: "v1", kind: "ConfigMap", name: `${id}-x-${name}` }));
    const xr = object("XThing", `${id}-x`, uid, { spec: { resourceRefs } }, { creationTimestamp: uid });
    return [
      xr,
      ...["a", "b"].map((entry, index) =>
        object(
          "ConfigMap",
          `${id}-x-${names[index]}`,
          `${uid}${entry}`,
          { data: { size } },
          {
            annotations: { "crossplane.io/composition-resource-name": entry },
            ...owner(uid, `${id}-x`),
          },
        ),
      ),
    ];
  };

  test("of two runs are equal if only UIDs, times, versions and generated names differ", () => {
    const first = snapshot(run("r0001", "uid-1", ["111", "222"]), "r0001");
    const second = snapshot(run("r0002", "uid-2", ["999", "888"]).toReversed(), "r0002");
    expect(differences(first, second)).toEqual([]);
  });

  test("show a different value, a missing object and a superfluous one", () => {
    const expected = snapshot(run("r0001", "uid-1", ["111", "222"]), "r0001");
    expect(differences(expected, snapshot(run("r0001", "uid-1", ["111", "222"], "large"), "r0001"))).toHaveLength(2);
    const objects = run("r0001", "uid-1", ["111", "222"]);
    const orphan = object("ConfigMap", "r0001-orphan", "uid-of-orphan");
    const found = differences(expected, snapshot([...objects.slice(0, 2), orphan], "r0001"));
    expect(found).toContainEqual(expect.stringMatching(/^missing: ConfigMap .*b of/));
    expect(found).toContainEqual("too many: ConfigMap /ID-orphan");
  });
});

describe("histories", () => {
  const history = (...changes: readonly [Change["type"], LiveObject][]): Change[] =>
    changes.map(([type, changed], index) => ({ version: BigInt(index + 1), type, object: changed }));

  test("of a correct run have no violations", () => {
    const one = composed("a", "1", "a");
    const changes = history(
      ["ADDED", composite([])],
      ["MODIFIED", composite(["a"])],
      ["ADDED", one],
      ["DELETED", one],
      ["MODIFIED", composite([])],
    );
    expect(violations(changes)).toEqual([]);
  });

  test.each([
    [
      "a second object of an entry",
      [
        ["ADDED", composite(["a", "b"])],
        ["ADDED", composed("a", "1", "a")],
        ["ADDED", composed("b", "2", "a")],
      ],
      "is a second a",
    ],
    [
      "an object before its reference",
      [
        ["ADDED", composite([])],
        ["ADDED", composed("a", "1", "a")],
      ],
      "before its composite had a reference",
    ],
    [
      "an object before the finalizer",
      [
        ["ADDED", composite(["a"], {})],
        ["ADDED", composed("a", "1", "a")],
      ],
      "before its composite had a finalizer",
    ],
    [
      "an object after its composite",
      [
        ["ADDED", composite(["a"])],
        ["DELETED", composite(["a"])],
        ["ADDED", composed("a", "1", "a")],
      ],
      "after its composite had gone",
    ],
    [
      "a reference that goes before its object",
      [
        ["ADDED", composite(["a"])],
        ["ADDED", composed("a", "1", "a")],
        ["MODIFIED", composite([])],
      ],
      "lost its reference",
    ],
  ] as const)("report %s", (_, changes, problem) => {
    const found = violations(history(...(changes as unknown as [Change["type"], LiveObject][])));
    expect(found).toEqual([expect.stringContaining(problem)]);
  });

  test("skip unwatched moments, and check later ones", () => {
    const [first, second] = [composed("a", "1", "a"), composed("b", "2", "a")];
    const [created, added, found] = history(["ADDED", composite([])], ["ADDED", first], ["MODIFIED", composite(["a"])]);
    const changes = [created, added, { ...found, unknownSince: 1n }] as Change[];
    expect(violations(changes)).toEqual([]);
    const after = violations([...changes, { version: 4n, type: "ADDED", object: second }]);
    expect(after).toContainEqual(expect.stringContaining("is a second a"));
  });
});
