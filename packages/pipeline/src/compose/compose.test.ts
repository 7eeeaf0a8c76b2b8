import type { Desired, ObservedResource } from "@xfn/functionio";
import type { KubernetesObject } from "@xfn/json";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bucket, xr } from "../../testing/fixtures.ts";
import { asComposite } from "../observed/observed-entries.ts";
import { type ComposedResource, type ComposeInput, compose } from "./compose.ts";

const composing = (input: Partial<ComposeInput>) =>
  compose({ composite: asComposite(xr()), desired: {}, observed: [], deleteUndesired: false, ...input });

const one = (resource: KubernetesObject, input: Partial<ComposeInput> = {}): ComposedResource => {
  const [composed] = composing({ desired: { resources: [{ name: "a", resource }] }, ...input }).composed;
  if (composed === undefined) throw new Error("nothing composed");
  return composed;
};

const existing = (metadata: Record<string, string>, rest = {}): ObservedResource[] => [
  { name: "a", resource: bucket({ metadata, ...rest }) },
];

describe("identity", () => {
  test("labels, annotation and owner make a resource the XR's", () => {
    expect(one(bucket()).resource).toEqual({
      ...bucket(),
      metadata: {
        generateName: "my-store-",
        labels: { "crossplane.io/composite": "my-store" },
        annotations: { "crossplane.io/composition-resource-name": "a" },
        ownerReferences: [
          {
            apiVersion: "example.org/v1alpha1",
            kind: "XStore",
            name: "my-store",
            uid: "",
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
    });
  });

  test("the XR's own composite and claim labels are passed on", () => {
    const labels = {
      "crossplane.io/composite": "root",
      "crossplane.io/claim-name": "shop",
      "crossplane.io/claim-namespace": "web",
      team: "a",
    };
    const { metadata } = one(bucket(), { composite: asComposite(xr({ labels })) }).resource;
    const { team: _team, ...passedOn } = labels;
    expect(metadata?.labels).toEqual(passedOn);
    expect(metadata?.generateName).toBe("root-");
  });

  test("without labels, the claim is that of the XR's claimRef", () => {
    const composite = asComposite(xr({}, { spec: { claimRef: { name: "shop", namespace: "web" } } }));
    expect(one(bucket(), { composite }).resource.metadata?.labels).toMatchObject({
      "crossplane.io/claim-name": "shop",
      "crossplane.io/claim-namespace": "web",
    });
  });

  test("forged: what a function writes about identity is overridden, everything else stays", () => {
    const owner = (name: string, controller: boolean) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      name,
      uid: name,
      controller,
    });
    const forged = bucket({
      metadata: {
        labels: { "crossplane.io/composite": "other", "crossplane.io/claim-name": "stolen", team: "a" },
        annotations: { "crossplane.io/composition-resource-name": "other", note: "n" },
        ownerReferences: [
          owner("boss", true),
          owner("friend", false),
          { ...owner("my-store", false), apiVersion: "example.org/v1alpha1", kind: "XStore" },
        ],
        finalizers: ["keep.example.org/it"],
      },
    });
    const { metadata } = one(forged).resource;
    expect(metadata?.labels).toEqual({ "crossplane.io/composite": "my-store", team: "a" });
    expect(metadata?.annotations).toEqual({ "crossplane.io/composition-resource-name": "a", note: "n" });
    expect(metadata?.["ownerReferences"]).toEqual([
      owner("friend", false),
      expect.objectContaining({ kind: "XStore", uid: "", controller: true }),
    ]);
    expect(metadata?.["finalizers"]).toEqual(["keep.example.org/it"]);
  });

  test("fields that only the API server writes are left out", () => {
    const server = { uid: "u", resourceVersion: "7", generation: 1, creationTimestamp: "x", managedFields: [{}] };
    const { metadata } = one(bucket({ metadata: { name: "n", ...server } })).resource;
    for (const field of Object.keys(server)) expect(metadata).not.toHaveProperty(field);
  });

  test("the function's output is not modified", () => {
    const desired: Desired = { resources: [{ name: "a", resource: bucket({ metadata: { labels: { team: "a" } } }) }] };
    const before = structuredClone(desired);
    composing({ desired });
    expect(desired).toEqual(before);
  });
});

describe("names", () => {
  const withUid = asComposite(xr({ uid: "1234" }));

  test("a name from the function stays", () => {
    const { metadata } = one(bucket({ metadata: { name: "mine" } }), { composite: withUid }).resource;
    expect(metadata?.name).toBe("mine");
    expect(metadata).not.toHaveProperty("generateName");
  });

  test("without a name: a deterministic one if the XR has a UID, else generateName", () => {
    const { metadata } = one(bucket(), { composite: withUid }).resource;
    expect(metadata?.name).toMatch(/^my-store-[0-9a-f]{12}$/);
    expect(metadata).not.toHaveProperty("generateName");
    expect(one(bucket(), { composite: withUid }).resource.metadata?.name).toBe(metadata?.name);
    expect(one(bucket()).resource.metadata).toMatchObject({ generateName: "my-store-" });
  });

  test("a generateName from the function is the start of the name", () => {
    const generating = bucket({ metadata: { generateName: "logs-" } });
    expect(one(generating, { composite: withUid }).resource.metadata?.name).toMatch(/^logs-[0-9a-f]{12}$/);
    expect(one(generating).resource.metadata).toMatchObject({ generateName: "logs-" });
  });

  test("an existing object keeps its name and namespace, and a different request causes a warning", () => {
    const observed = existing({ name: "old", namespace: "ns", generateName: "o-" });
    for (const composite of [withUid, asComposite(xr())]) {
      const { metadata } = one(bucket(), { observed, composite }).resource;
      expect(metadata).toMatchObject({ name: "old", namespace: "ns", generateName: "o-" });
    }
    const desired = { resources: [{ name: "a", resource: bucket({ metadata: { name: "new", namespace: "ns" } }) }] };
    const { composed, warnings } = composing({ desired, observed });
    expect(composed[0]?.resource.metadata?.name).toBe("old");
    expect(warnings).toEqual([expect.stringMatching(/"a".*new.*ns\/old/)]);
  });

  test("a namespaced XR composes in its own namespace", () => {
    const composite = asComposite(xr({ namespace: "web" }));
    const desired = { resources: [{ name: "a", resource: bucket({ metadata: { namespace: "kube-system" } }) }] };
    const { composed, warnings } = composing({ composite, desired });
    expect(composed[0]?.resource.metadata?.namespace).toBe("web");
    expect(warnings).toEqual([expect.stringContaining("kube-system")]);
    expect(one(bucket(), { composite }).resource.metadata?.namespace).toBe("web");
  });
});

describe("the three states of an entry", () => {
  const observed: ObservedResource[] = ["a", "b", "c"].map((name) => ({
    name,
    resource: bucket({ metadata: { name } }),
  }));
  const desired: Desired = {
    resources: [
      { name: "b", resource: null },
      { name: "a", resource: bucket() },
      { name: "never-was", resource: null },
    ],
  };

  test("present entries are applied, null entries deleted, absent entries unchanged", () => {
    const result = composing({ desired, observed });
    expect(result.composed.map((one) => one.name)).toEqual(["a"]);
    expect(result.deleted).toEqual(["b", "never-was"]);
  });

  test("undesiredResources: Delete deletes absent entries too", () => {
    expect(composing({ desired, observed, deleteUndesired: true }).deleted).toEqual(["b", "c", "never-was"]);
  });

  test("the order does not depend on the order of the entries", () => {
    const names = fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 10 });
    const shuffled = names.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    fc.assert(
      fc.property(shuffled, ([list, other]) => {
        const result = (order: string[]) =>
          composing({ desired: { resources: order.map((name) => ({ name, resource: bucket() })) } }).composed;
        expect(result(other)).toEqual(result(list));
      }),
    );
  });
});

describe("readiness", () => {
  test("is that of the observed object; a missing object is ready only without checks", () => {
    const conditions = [{ type: "Ready", status: "True" }];
    expect(one(bucket(), { observed: existing({ name: "x" }, { status: { conditions } }) }).ready).toBe(true);
    expect(one(bucket(), { observed: existing({ name: "x" }) }).ready).toBe(false);
    expect(one(bucket({ status: { conditions } })).ready).toBe(false);
    const resources = [{ name: "a", resource: bucket(), readinessChecks: [{ type: "None" as const }] }];
    expect(composing({ desired: { resources } }).composed[0]?.ready).toBe(true);
  });

  test("a check that cannot be evaluated makes its resource unready and is reported without values", () => {
    const readinessChecks = [{ type: "MatchString" as const, fieldPath: "spec.region.x", matchString: "hunter2" }];
    const desired = { resources: [{ name: "a", resource: bucket(), readinessChecks }] };
    const { composed, warnings } = composing({ desired, observed: existing({ name: "x" }) });
    expect(composed[0]?.ready).toBe(false);
    expect(warnings).toEqual([expect.stringMatching(/"a".*readinessChecks\[0\]: spec.region/)]);
    expect(warnings[0]).not.toContain("hunter2");
  });
});

describe("connection details", () => {
  test("come from the XR, from observed secrets and fields, and from values; absent entries add nothing", () => {
    const desired: Desired = {
      composite: { connectionDetails: [{ name: "user", value: "admin" }] },
      resources: [
        {
          name: "a",
          resource: bucket(),
          connectionDetails: [
            { name: "pass", fromConnectionSecretKey: "password" },
            { name: "host", fromFieldPath: "status.host" },
            { name: "port", value: "5432" },
          ],
        },
        { name: "new", resource: bucket(), connectionDetails: [{ name: "region", fromFieldPath: "spec.region" }] },
        { name: "gone", resource: null, connectionDetails: [{ name: "gone", value: "x" }] },
      ],
    };
    const observed: ObservedResource[] = [
      {
        name: "a",
        resource: bucket({ metadata: { name: "x" }, status: { host: "db" } }),
        connectionDetails: [{ name: "password", value: "hunter2" }],
      },
    ];
    const { connectionDetails, warnings } = composing({ desired, observed });
    expect([...connectionDetails]).toEqual([
      ["host", "db"],
      ["pass", "hunter2"],
      ["port", "5432"],
      ["region", "eu"],
      ["user", "admin"],
    ]);
    expect(warnings).toEqual([]);
  });

  test("one name from two sources is reported by name, and the later entry wins", () => {
    const desired: Desired = {
      composite: { connectionDetails: [{ name: "n", value: "hunter0" }] },
      resources: ["b", "a"].map((name) => ({
        name,
        resource: bucket(),
        connectionDetails: [{ name: "n", value: `hunter-${name}` }],
      })),
    };
    const { connectionDetails, warnings } = composing({ desired });
    expect(connectionDetails.get("n")).toBe("hunter-b");
    expect(warnings).toEqual([expect.stringContaining("desired.composite"), expect.stringContaining('"a"')]);
    expect(warnings.join()).not.toContain("hunter");
  });

  test("a detail that cannot be derived is reported, and the others are published", () => {
    const connectionDetails = [{ name: "n" }] as never;
    const { composed, warnings } = composing({
      desired: { resources: [{ name: "a", resource: bucket(), connectionDetails }] },
    });
    expect(composed).toHaveLength(1);
    expect(warnings).toEqual([expect.stringContaining("connectionDetails[0]")]);
  });
});
