import { expect, test } from "vitest";
import { APPS, BUCKETS, bucketOf, CLAIMS, definition, object, settle, start, xr } from "../../testing/engine-stage.ts";
import { DEFINITIONS } from "../objects/kinds.ts";

test("instances are reconciled when their definition is established, claims when it is offered", async () => {
  const { informers, seen } = start();
  informers.put(APPS, xr("a"));
  informers.put(CLAIMS, object(CLAIMS, "c", {}, { namespace: "team" }));
  informers.put(DEFINITIONS, definition({ conditions: [] }));
  await settle();
  expect(seen.splice(0)).toEqual(["definition xapps.example.org"]);
  informers.put(DEFINITIONS, definition({ conditions: ["Established"] }));
  await settle();
  expect(seen.splice(0)).toEqual(["definition xapps.example.org", "XApp a"]);
  informers.put(DEFINITIONS, definition());
  await settle();
  expect(seen.splice(0)).toEqual(["definition xapps.example.org", "App team/c"]);
});

test("a definition that is being deleted has controllers until it is gone, also after a restart", async () => {
  const { informers, seen } = start();
  const controllers = {
    compositeResourceType: { apiVersion: "example.org/v1", kind: "XApp" },
    compositeResourceClaimType: { apiVersion: "example.org/v1", kind: "App" },
  };
  const meta = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  informers.put(DEFINITIONS, definition({ conditions: [], controllers, meta }));
  informers.put(APPS, xr("a"));
  await settle();
  expect(seen).toContain("XApp a");
  expect(informers.watched).toContain("xapps");
  expect(informers.watched).toContain("apps");
  informers.remove(DEFINITIONS, "xapps.example.org");
  await settle();
  expect(informers.watched).not.toContain("xapps");
  expect(informers.watched).not.toContain("apps");
});

/** The stored version of composites in a definition's status. */
const stores = (version: string): object => ({
  compositeResourceType: { apiVersion: `example.org/${version}`, kind: "XApp" },
});

test("a refused version ends no controller, and is used as soon as the server stores it", async () => {
  const { informers, seen } = start();
  informers.put(DEFINITIONS, definition({ controllers: stores("v1") }));
  informers.put(APPS, xr("a"));
  await settle();
  const refused = { version: "v2", keys: ["!"], generation: 2, conditions: [], controllers: stores("v1") };
  informers.put(DEFINITIONS, definition(refused));
  await settle();
  seen.splice(0);
  informers.put(APPS, xr("b"));
  await settle();
  expect(seen).toEqual(["XApp b"]);
  informers.put({ ...APPS, version: "v2" }, xr("c"));
  informers.put(DEFINITIONS, definition({ ...refused, conditions: ["Established"], controllers: stores("v2") }));
  await settle();
  expect(seen).toContain("XApp! c");
});

test("a controller that starts while the server refuses a change reconciles the served version", async () => {
  const { informers, seen } = start();
  informers.put(APPS, xr("a"));
  informers.put(DEFINITIONS, definition({ generation: 2, conditions: [], controllers: stores("v1") }));
  await settle();
  expect(seen).toContain("XApp a");
});

test("a controller that starts while the server refuses a version reconciles the stored one, then the new one", async () => {
  const { informers, seen } = start();
  informers.put(APPS, xr("a"));
  const refused = { version: "v2", keys: ["!"], generation: 2, conditions: [], controllers: stores("v1") };
  informers.put(DEFINITIONS, definition(refused));
  await settle();
  expect(seen).toContain("XApp! a");
  informers.put({ ...APPS, version: "v2" }, xr("c"));
  informers.put(DEFINITIONS, definition({ ...refused, conditions: ["Established"], controllers: stores("v2") }));
  await settle();
  expect(seen).toContain("XApp! c");
});

test("deleting a refused definition leaves the composites of the kind's owner alone", async () => {
  const { informers, seen, composed } = start();
  informers.put(DEFINITIONS, definition());
  informers.put(APPS, xr("a"));
  await settle();
  composed()?.watch("uid-a", [BUCKETS]);
  const meta = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  informers.put(DEFINITIONS, definition({ plural: "xother", conditions: [], meta }));
  await settle();
  expect(informers.watched).not.toContain("xother");
  expect(informers.watched).not.toContain("other");
  informers.remove(DEFINITIONS, "xother.example.org");
  await settle();
  seen.splice(0);
  informers.put(BUCKETS, bucketOf("a"));
  await settle();
  expect(seen).toEqual(["XApp a"]);
});

test.each(["xapps", "xother"])(
  "of two definitions with one kind the earlier one has it, then the remaining one (%s is deleted)",
  async (goes) => {
    const { informers, seen, composed } = start();
    for (const plural of ["xapps", "xother"]) {
      informers.put(DEFINITIONS, definition({ plural, keys: [`+${plural}`] }));
      informers.put({ ...APPS, plural }, xr(`of-${plural}`));
      await settle();
      composed()?.watch(`uid-of-${plural}`, [BUCKETS]);
    }
    seen.splice(0);
    informers.put(BUCKETS, bucketOf("of-xapps"));
    await settle();
    expect(seen.splice(0)).toEqual(["XApp+xapps of-xapps"]);
    informers.remove(DEFINITIONS, `${goes}.example.org`);
    await settle();
    const stays = goes === "xapps" ? "xother" : "xapps";
    const again = `XApp+${stays} of-${stays}`;
    // Changes were not reported to the other definition while the earlier one owned the kind.
    expect(seen.splice(0).filter((what) => what.startsWith("XApp"))).toEqual(goes === "xapps" ? [again] : []);
    informers.put(BUCKETS, { ...bucketOf(`of-${stays}`), spec: {} });
    await settle();
    expect(seen).toEqual([again]);
  },
);

test("a change of a definition's spec reconciles its instances, a change of its status does not", async () => {
  const { informers, seen } = start();
  informers.put(DEFINITIONS, definition());
  informers.put(APPS, xr("a"));
  await settle();
  seen.splice(0);
  const { started } = informers;
  informers.put(DEFINITIONS, definition({ conditions: ["Established", "Offered", "Other"] }));
  await settle();
  expect(seen.splice(0)).toEqual(["definition xapps.example.org"]);
  informers.put(DEFINITIONS, definition({ keys: ["+keys"], generation: 2 }));
  await settle();
  expect(seen.toSorted()).toEqual(["XApp+keys a", "definition xapps.example.org"]);
  expect(informers.started).toBe(started);
});
