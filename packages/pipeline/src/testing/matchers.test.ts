import { stripVTControlCharacters } from "node:util";
import { compose, fatal } from "@xfn/functionio/sdk";
import { beforeAll, describe, expect, test } from "vitest";
import { type Rendering, render, type TestFunction } from "./index.ts";

const COMPOSITION = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: databases }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XDatabase }
  functions:
  - { name: database, type: Container, container: { image: database } }
`;
const XR = { apiVersion: "example.org/v1", kind: "XDatabase", metadata: { name: "orders" }, spec: {} };
const SECRET = "hunter2-is-secret";

const database = compose(({ desired, results }) => {
  const readinessChecks = [
    { type: "MatchString", fieldPath: "status.state", matchString: "Ready" } as const,
    { type: "MatchCondition", matchCondition: { type: "Available", status: "True" } } as const,
    { type: "MatchInteger", fieldPath: "status.replicas", matchInteger: 1 } as const,
    { type: "NonEmpty", fieldPath: "metadata.name" } as const,
  ];
  const firewall = { apiVersion: "sql.example.org/v1", kind: "FirewallRule", metadata: { name: "orders-web" } };
  desired.apply("server", {
    apiVersion: "sql.example.org/v1",
    kind: "MySQLServer",
    metadata: { name: "orders" },
    spec: { forProvider: { location: "West US", storageMb: 51200, zones: [{ name: "a", rank: 1 }, { name: "b" }] } },
  });
  desired.apply("firewall", firewall, { readinessChecks });
  desired.delete("replica");
  desired.composite.connectionDetail("password", SECRET);
  desired.composite.connectionDetail("endpoint", "orders.example.org");
  results.warning("the size is deprecated");
  results.normal("created");
});

function rendered(fn: TestFunction, observed = {}): Promise<Rendering> {
  return render({ composite: XR, composition: COMPOSITION, functions: { database: fn }, observed });
}

/** The message of an assertion that fails. */
function failure(assert: () => void): string {
  try {
    assert();
  } catch (error) {
    const message = stripVTControlCharacters((error as Error).message);
    expect(message).not.toContain(SECRET);
    return message;
  }
  throw new Error("the assertion holds");
}

const READY = { conditions: [{ type: "Ready", status: "True" }] };
const SERVER = { apiVersion: "sql.example.org/v1", kind: "MySQLServer", metadata: { name: "orders" } };
const FIREWALL = { apiVersion: "sql.example.org/v1", kind: "FirewallRule", metadata: { name: "orders-web" } };

let result: Rendering;
let ended: Rendering;
beforeAll(async () => {
  result = await rendered(database);
  ended = await rendered(compose(() => fatal("the region is closed")));
});

describe("toComposeResource", () => {
  test("holds for an entry that is composed, with a part of its fields and asymmetric matchers", () => {
    expect(result).toComposeResource("server");
    expect(result).toComposeResource("server", { kind: "MySQLServer", spec: { forProvider: { location: "West US" } } });
    expect(result).toComposeResource("server", {
      metadata: expect.objectContaining({ name: "orders" }),
      spec: { forProvider: { storageMb: expect.any(Number), zones: expect.arrayContaining([{ name: "b" }]) } },
    });
  });

  test("does not hold for another entry, value, field or length of a list", () => {
    expect(result).not.toComposeResource("disk");
    expect(result).not.toComposeResource("replica");
    expect(result).not.toComposeResource("server", { kind: "FirewallRule" });
    expect(result).not.toComposeResource("server", { spec: { nothing: expect.anything() } });
    expect(result).not.toComposeResource("server", { spec: { forProvider: { zones: [{ name: "a" }] } } });
  });

  test("its message shows what differs, and only that", () => {
    const fields = {
      kind: expect.any(String),
      spec: {
        forProvider: { location: "East US", storageMb: expect.any(String), zones: [{ name: "a" }, { name: "c" }] },
      },
    };
    expect(failure(() => expect(result).toComposeResource("server", fields))).toMatchInlineSnapshot(`
      "the entry "server" (MySQLServer orders) does not have the expected fields

      - Expected
      + Received

        {
          "kind": Any<String>,
          "spec": {
            "forProvider": {
      -       "location": "East US",
      -       "storageMb": Any<String>,
      +       "location": "West US",
      +       "storageMb": 51200,
              "zones": [
                {
                  "name": "a",
                },
                {
      -           "name": "c",
      +           "name": "b",
                },
              ],
            },
          },
        }
      Who set what:
        spec.forProvider.location: step database
        spec.forProvider.storageMb: step database
        spec.forProvider.zones[1].name: step database"
    `);
  });

  test("its message names what is composed, and what was probably meant", () => {
    expect(failure(() => expect(result).toComposeResource("servre"))).toMatchInlineSnapshot(`
      "expected the entry "servre" to be composed, but it is not; did you mean "server"?
      Composed:
        firewall: FirewallRule orders-web
        server: MySQLServer orders
      Warnings:
        Warning (step database): the size is deprecated"
    `);
  });

  test("its message reports a deleted entry, an empty composition, and a run that ended early", async () => {
    expect(failure(() => expect(result).toComposeResource("replica"))).toMatchInlineSnapshot(
      `"expected the entry "replica" to be composed, but it is desired to be deleted"`,
    );
    const nothing = await rendered(compose(() => {}));
    expect(failure(() => expect(nothing).toComposeResource("server"))).toMatchInlineSnapshot(
      `"expected the entry "server" to be composed, but nothing is composed"`,
    );
    expect(failure(() => expect(ended).toComposeResource("server"))).toMatchInlineSnapshot(
      `"expected the entry "server" to be composed, but step "database" ended in a fatal result, after which nothing is composed: the region is closed"`,
    );
  });

  test("negated, its message shows the composed resource", () => {
    expect(failure(() => expect(result).not.toComposeResource("server"))).toMatchInlineSnapshot(
      `"expected the entry "server" not to be composed, but it is: MySQLServer orders"`,
    );
    const fields = { kind: "MySQLServer" };
    expect(failure(() => expect(result).not.toComposeResource("server", fields))).toMatchInlineSnapshot(`
      "expected the entry "server" (MySQLServer orders) not to have the fields

      Object {
        "kind": "MySQLServer",
      }"
    `);
  });

  test("compares keys such as __proto__ and constructor as data", async () => {
    const data = JSON.parse('{"__proto__": "a", "constructor": "b"}') as object;
    const odd = await rendered(
      compose(({ desired }) => desired.apply("odd", { apiVersion: "v1", kind: "ConfigMap", data })),
    );
    expect(odd).toComposeResource("odd", { data: JSON.parse('{"__proto__": "a"}') as object });
    const other = JSON.parse('{"data": {"__proto__": "c", "constructor": "b"}}') as object;
    expect(odd).not.toComposeResource("odd", other);
    expect(failure(() => expect(odd).toComposeResource("odd", other))).toContain('"c"');
  });

  test("its message works for keys that no field path can name", async () => {
    const data = { "": "a", "a]b": "a", "a.b": "a", __proto__x: "a" };
    const odd = await rendered(
      compose(({ desired }) => desired.apply("odd", { apiVersion: "v1", kind: "ConfigMap", data })),
    );
    const other = { data: { "": "b", "a]b": "b", "a.b": "b" } };
    const message = failure(() => expect(odd).toComposeResource("odd", other));
    expect(message).toContain("data[a.b]: step database");
  });
});

describe("toBeReady", () => {
  test("holds once all composed resources are ready", async () => {
    const status = { ...READY, state: "Ready", replicas: 1 };
    const available = { conditions: [{ type: "Available", status: "True" }], state: "Ready", replicas: 1 };
    const observed = { server: { ...SERVER, status }, firewall: { ...FIREWALL, status: available } };
    const all = await rendered(database, observed);
    expect(all).toBeReady();
    expect(all).toBeReady("server");
    expect(failure(() => expect(all).not.toBeReady())).toMatchInlineSnapshot(
      `"expected the composite resource (XDatabase orders) not to be ready"`,
    );
    expect(failure(() => expect(all).not.toBeReady("server"))).toMatchInlineSnapshot(
      `"expected the entry "server" not to be ready"`,
    );
  });

  test("its message gives every reason: which check, which condition, or that nothing exists", async () => {
    expect(result).not.toBeReady();
    expect(failure(() => expect(result).toBeReady())).toMatchInlineSnapshot(`
      "expected the composite resource (XDatabase orders) to be ready
        firewall (FirewallRule orders-web): it does not exist yet: give what exists as \`observed\`
        server (MySQLServer orders): it does not exist yet: give what exists as \`observed\`
      Warnings:
        Warning (step database): the size is deprecated"
    `);
    const conditions = [{ type: "Ready", status: "False", reason: "Creating" }];
    const status = { state: SECRET, conditions: [{ type: "Available", status: "False" }] };
    const observed = { server: { ...SERVER, status: { conditions } }, firewall: { ...FIREWALL, status } };
    const waiting = await rendered(database, observed);
    expect(failure(() => expect(waiting).toBeReady())).toMatchInlineSnapshot(`
      "expected the composite resource (XDatabase orders) to be ready
        firewall (FirewallRule orders-web): readinessChecks[0]: status.state is not "Ready"
          and readinessChecks[1]: its condition Available is False, not True
          and readinessChecks[2]: status.replicas is not 1
        server (MySQLServer orders): its condition Ready is False, not True (Creating)
      Warnings:
        Warning (step database): the size is deprecated"
    `);
    expect(failure(() => expect(waiting).toBeReady("server"))).toMatchInlineSnapshot(`
      "expected the entry "server" to be ready
        server (MySQLServer orders): its condition Ready is False, not True (Creating)
      Warnings:
        Warning (step database): the size is deprecated"
    `);
  });

  test("its message names a check that cannot be evaluated, and a missing condition", async () => {
    const odd = await rendered(database, { server: SERVER, firewall: { ...FIREWALL, status: { state: [SECRET] } } });
    expect(failure(() => expect(odd).toBeReady())).toMatchInlineSnapshot(`
      "expected the composite resource (XDatabase orders) to be ready
        firewall (FirewallRule orders-web): readinessChecks[0]: status.state: expected a string, found a list
          and readinessChecks[1]: it has no condition Available
          and readinessChecks[2]: status.replicas is not 1
        server (MySQLServer orders): it has no condition Ready
      Warnings:
        Warning (step database): the size is deprecated
        Warning: composed resource "firewall": cannot tell whether it is ready: readinessChecks[0]: status.state: expected a string, found a list"
    `);
  });

  test("no entry is ready after a fatal result, and no entry without a resource", () => {
    expect(failure(() => expect(ended).toBeReady())).toMatchInlineSnapshot(`
      "expected the composite resource (XDatabase orders) to be ready
        step "database" ended in a fatal result, after which nothing is composed: the region is closed"
    `);
    expect(failure(() => expect(result).toBeReady("disk"))).toContain("firewall: FirewallRule orders-web");
  });
});

describe("toHaveResult", () => {
  test("holds for a severity, and for a message that contains a text or matches", () => {
    expect(result).toHaveResult("Warning");
    expect(result).toHaveResult("Warning", "deprecated");
    expect(result).toHaveResult("Normal", /^created$/);
    expect(ended).toHaveResult("Fatal", "closed");
    const again = /created/g;
    expect(result).toHaveResult("Normal", again);
    expect(result).toHaveResult("Normal", again);
  });

  test("its message shows the actual results", async () => {
    expect(result).not.toHaveResult("Fatal");
    expect(failure(() => expect(result).toHaveResult("Normal", /deprecated/))).toMatchInlineSnapshot(`
      "expected a Normal result that matches /deprecated/, but the results are
        Warning (step database): the size is deprecated
        Normal (step database): created"
    `);
    expect(failure(() => expect(result).not.toHaveResult("Warning", "deprecated"))).toMatchInlineSnapshot(`
      "expected no Warning result that contains "deprecated", but there is
        Warning (step database): the size is deprecated"
    `);
    const silent = await rendered(compose(() => {}));
    expect(failure(() => expect(silent).toHaveResult("Warning"))).toMatchInlineSnapshot(
      `"expected a Warning result, but there are no results"`,
    );
  });

  test("refuses an unknown severity", () => {
    expect(failure(() => expect(result).toHaveResult("Error" as "Fatal"))).toContain("Fatal, Warning, Normal");
  });
});

describe("toPublish", () => {
  test("holds for a connection detail, and for its value", () => {
    expect(result).toPublish("password");
    expect(result).toPublish("password", SECRET);
    expect(result).not.toPublish("password", "another");
    expect(result).not.toPublish("username");
  });

  test("no message shows a value", () => {
    expect(failure(() => expect(result).toPublish("pasword"))).toMatchInlineSnapshot(
      `"expected the connection detail "pasword" to be published; published: endpoint, password; did you mean "password"?"`,
    );
    expect(failure(() => expect(result).toPublish("password", "guess"))).toMatchInlineSnapshot(
      `"expected the connection detail "password" to have another value (which is not shown)"`,
    );
    expect(failure(() => expect(result).not.toPublish("password", SECRET))).toMatchInlineSnapshot(
      `"expected the connection detail "password" not to be published with this value (which is not shown)"`,
    );
    expect(failure(() => expect(ended).toPublish("password"))).toMatchInlineSnapshot(
      `"expected the connection detail "password" to be published; step "database" ended in a fatal result, after which nothing is composed: the region is closed"`,
    );
  });
});

describe("snapshots", () => {
  test("are the output of xfn render -r -x, then names of connection details and of deleted entries", () => {
    expect(result).toMatchInlineSnapshot(`
      ---
      apiVersion: example.org/v1
      kind: XDatabase
      metadata:
        name: orders
      spec: {}
      status:
        conditions:
        - lastTransitionTime: "2024-01-01T00:00:00Z"
          reason: ReconcileSuccess
          status: "True"
          type: Synced
        - lastTransitionTime: "2024-01-01T00:00:00Z"
          message: 'Unready resources: firewall, server'
          reason: Creating
          status: "False"
          type: Ready
      ---
      apiVersion: sql.example.org/v1
      kind: FirewallRule
      metadata:
        annotations:
          crossplane.io/composition-resource-name: firewall
        labels:
          crossplane.io/composite: orders
        name: orders-web
        ownerReferences:
        - apiVersion: example.org/v1
          blockOwnerDeletion: true
          controller: true
          kind: XDatabase
          name: orders
          uid: ""
      ---
      apiVersion: sql.example.org/v1
      kind: MySQLServer
      metadata:
        annotations:
          crossplane.io/composition-resource-name: server
        labels:
          crossplane.io/composite: orders
        name: orders
        ownerReferences:
        - apiVersion: example.org/v1
          blockOwnerDeletion: true
          controller: true
          kind: XDatabase
          name: orders
          uid: ""
      spec:
        forProvider:
          location: West US
          storageMb: 51200
          zones:
          - name: a
            rank: 1
          - name: b
      ---
      apiVersion: render.crossplane.io/v1beta1
      kind: Result
      message: the size is deprecated
      severity: Warning
      step: database
      ---
      apiVersion: render.crossplane.io/v1beta1
      kind: Result
      message: created
      severity: Normal
      step: database
      ---
      connectionDetails:
      - endpoint
      - password
      deleted:
      - replica
    `);
  });

  test("do not depend on order, and never contain the value of a connection detail", async () => {
    const shuffled = compose(({ desired }) => {
      desired.apply("b", { kind: "B", apiVersion: "v1" });
      desired.apply("a", { apiVersion: "v1", kind: "A" });
      desired.composite.connectionDetail("password", SECRET);
    });
    const ordered = compose(({ desired }) => {
      desired.composite.connectionDetail("password", SECRET);
      desired.apply("a", { kind: "A", apiVersion: "v1" });
      desired.apply("b", { apiVersion: "v1", kind: "B" });
    });
    const text = String(await rendered(shuffled));
    expect(text).toBe(String(await rendered(ordered)));
    expect(text).not.toContain(SECRET);
  });

  test("an assertion of vitest's own on a result shows no value of a connection detail either", () => {
    expect(failure(() => expect(result).toEqual({}))).not.toContain(SECRET);
    expect(failure(() => expect(result).toMatchObject({ connectionDetails: 1 }))).not.toContain(SECRET);
  });
});

test("a matcher reports an argument that is not a result", () => {
  expect(failure(() => expect(Promise.resolve()).toBeReady())).toContain("await it");
  expect(failure(() => expect(null).toBeReady())).toContain("null");
});
