import { isObject, type JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { get, named, owner, unnamed, world, xr } from "../harness/composite-memory.ts";

// XRs that have claims. They have no controller: the claim owns them.

const XBUCKET = { apiVersion: "example.org/v1", kind: "XBucket" };
const VOLUME = { apiVersion: "v1", kind: "PersistentVolume" };

/** An object without a controller that names a claim. */
const claimed = (type: typeof VOLUME, claimRef: JsonObject, labels?: { [key: string]: string }): LiveObject => ({
  ...type,
  metadata: { name: "theirs", uid: "theirs", resourceVersion: "1", ...(labels && { labels }) },
  spec: { claimRef, size: 9 },
});
const template = (type: typeof VOLUME): JsonObject => ({
  ...named("a", "theirs"),
  base: { ...type, spec: { size: 1 } },
});

test("the XR of a claim is neither adopted, changed nor deleted by the Composition of another XR", async () => {
  const labels = { "crossplane.io/claim-name": "shop", "crossplane.io/claim-namespace": "team" };
  const theirs = claimed(
    XBUCKET,
    { apiVersion: "example.org/v1", kind: "Bucket", namespace: "team", name: "shop" },
    labels,
  );
  const w = world([xr(), theirs]);
  w.compose(template(XBUCKET));
  for (let count = 0; count < 2; count++) {
    await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "NotControllable" }));
    await expect(w.reconcile()).rejects.toThrow("belongs to the claim or requirement shop");
    expect(get(w.client, "XBucket", "theirs")).toEqual(theirs);
    w.restart();
  }
  w.compose();
  await w.reconcile();
  expect(get(w.client, "XBucket", "theirs")).toEqual(theirs);
});

test("an object with a claimRef of another meaning is adopted", async () => {
  const w = world([xr(), claimed(VOLUME, { kind: "PersistentVolumeClaim", namespace: "team", name: "data" })]);
  w.compose(template(VOLUME));
  await w.reconcile();
  const after = get(w.client, "PersistentVolume", "theirs");
  expect(after?.metadata["ownerReferences"]).toMatchObject([{ name: "xr", controller: true }]);
  expect(after?.["spec"]).toMatchObject({ size: 1 });
});

test("a composed object that another object claims stays composed", async () => {
  const composed = claimed(
    VOLUME,
    { kind: "PersistentVolumeClaim", namespace: "team", name: "data" },
    { "crossplane.io/claim-name": "shop" },
  );
  composed.metadata["ownerReferences"] = [owner()];
  const w = world([xr({}, { labels: { "crossplane.io/claim-name": "shop" } }), composed]);
  w.compose(template(VOLUME));
  await w.reconcile();
  expect(get(w.client, "PersistentVolume", "theirs")?.["spec"]).toMatchObject({ size: 1, claimRef: { name: "data" } });
});

const CLAIM = { apiVersion: "example.org/v1", kind: "Database", namespace: "team" };

/** XRs of one Composition. Each one composes the claim of the next, and the last one that of the XR under test. */
function nestedByClaims(length: number, composition: string): LiveObject[] {
  const refer = (index: number): JsonObject => ({ ...CLAIM, name: `claim-${index}` });
  const ancestors = Array.from({ length }, (_, index) => {
    const name = `ancestor-${index}`;
    const claim: LiveObject = {
      apiVersion: "example.org/v1",
      kind: "Database",
      metadata: {
        name: `claim-${index}`,
        namespace: "team",
        uid: `claim-${index}`,
        resourceVersion: "1",
        ownerReferences: [{ ...owner(name), name }],
      },
    };
    const spec = { compositionRef: { name: composition }, ...(index > 0 && { claimRef: refer(index - 1) }) };
    return [xr(spec, { name, uid: name }), claim];
  });
  return [xr({ claimRef: refer(length - 1) }), ...ancestors.flat()];
}

test("a Composition that composes itself through claims is refused at the fourth ancestor that uses it", async () => {
  for (const objects of [nestedByClaims(3, "c"), nestedByClaims(20, "other")]) {
    const w = world(objects);
    w.compose(unnamed("a"));
    await w.reconcile();
    expect([...w.client.objects.values()].some(({ kind }) => kind === "Widget")).toBe(true);
  }
  // An owner that was deleted and made again is another object.
  const remade = nestedByClaims(4, "c").map((one) =>
    one.metadata.name === "ancestor-3" ? { ...one, metadata: { ...one.metadata, uid: "remade" } } : one,
  );
  const recreated = world(remade);
  recreated.compose(unnamed("a"));
  await recreated.reconcile();
  // An API server accepts owners in a circle.
  const inCircle = nestedByClaims(2, "other").map((one) => {
    const { spec } = one;
    return one.metadata.name === "ancestor-0" && isObject(spec)
      ? { ...one, spec: { ...spec, claimRef: { ...CLAIM, name: "claim-1" } } }
      : one;
  });
  const circular = world(inCircle);
  circular.compose(unnamed("a"));
  await circular.reconcile();
  const w = world(nestedByClaims(4, "c"));
  w.compose(unnamed("a"));
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Recursive" }));
  expect([...w.client.objects.values()].some(({ kind }) => kind === "Widget")).toBe(false);
});
