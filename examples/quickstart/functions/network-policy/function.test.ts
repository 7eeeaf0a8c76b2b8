import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("function.sh", import.meta.url));

interface Output {
  observed: unknown;
  desired?: { resources: { name: string; resource: NetworkPolicy }[] };
  results?: { severity: string; message: string }[];
}

interface NetworkPolicy {
  metadata: { name: string; namespace: string };
  spec: { podSelector: unknown; ingress: { from: unknown[]; ports?: unknown }[] };
}

function invoke(xr: unknown, rest: object = {}): Output {
  const io = {
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    kind: "FunctionIO",
    observed: { composite: { resource: xr } },
  };
  const { status, stdout, stderr } = spawnSync(PROGRAM, { input: `${JSON.stringify({ ...io, ...rest })}\n` });
  expect(stderr.toString()).toBe("");
  expect(status).toBe(0);
  const output = JSON.parse(stdout.toString()) as Output;
  expect(output.observed).toEqual(JSON.parse(JSON.stringify(io.observed)));
  return output;
}

function database(spec: object, name = "orders"): object {
  return { apiVersion: "platform.example.org/v1alpha1", kind: "XDatabase", metadata: { name }, spec };
}

function clientsOf(output: Output): unknown[] {
  const policy = output.desired?.resources.at(-1)?.resource;
  return (policy?.spec.ingress ?? []).filter((rule) => rule.ports !== undefined).flatMap((rule) => rule.from);
}

describe("the network policy", () => {
  test("admits the named clients", () => {
    const output = invoke(database({ namespace: "shop", clients: ["api", "reports"] }));
    expect(output.desired?.resources[0]?.resource).toMatchObject({
      metadata: { name: "orders", namespace: "shop" },
      spec: { podSelector: { matchLabels: { "cnpg.io/cluster": "orders" } } },
    });
    expect(clientsOf(output)).toEqual([
      {
        podSelector: {
          matchExpressions: [{ key: "app.kubernetes.io/name", operator: "In", values: ["api", "reports"] }],
        },
      },
    ]);
  });

  // An ingress rule with an empty `from` would let everyone in.
  test.each([[[]], [null], [undefined]])("has no rule for clients %j", (clients) => {
    const output = invoke(database({ namespace: "shop", clients }));
    expect(clientsOf(output)).toEqual([]);
    expect(output.desired?.resources[0]?.resource.spec.ingress).toHaveLength(1);
  });

  test("follows the entries of earlier steps", () => {
    const desired = {
      composite: { resource: { status: { note: '"desired":{"resources":[]}' } } },
      resources: [{ name: "cluster", resource: { apiVersion: "v1", kind: "Thing", text: '}]}\\"' }, extra: [1] }],
    };
    const results = [{ severity: "Normal", message: "as before" }];
    const output = invoke(database({ namespace: "shop" }), { desired, results, unknown: { field: 1 } });
    expect(output.desired).toMatchObject({ composite: desired.composite });
    expect(output.desired?.resources.map(({ name }) => name)).toEqual(["cluster", "network-policy"]);
    expect(output.desired?.resources[0]).toEqual(desired.resources[0]);
    expect(output).toMatchObject({ results, unknown: { field: 1 } });
  });

  test.each(['say "hi"', "back\\slash\\", '"desired":{"resources":[', "$(id) `id` $HOME", "%s\\n", "é\n"])(
    "carries %j as it is",
    (text) => {
      const output = invoke(database({ namespace: text, clients: [text] }, text));
      expect(output.desired?.resources[0]?.resource.metadata).toEqual({ name: text, namespace: text });
      expect(clientsOf(output)).toMatchObject([{ podSelector: { matchExpressions: [{ values: [text] }] } }]);
    },
  );

  test.each([
    [{ clients: ["api"] }, "spec.namespace"],
    [{ namespace: "" }, "spec.namespace"],
    [{ namespace: "shop", clients: "api" }, "spec.clients"],
  ])("is refused for %j", (spec, field) => {
    const output = invoke(database(spec), { results: [{ severity: "Normal", message: "as before" }] });
    expect(output.desired).toBeUndefined();
    expect(output.results).toMatchObject([{ severity: "Normal" }, { severity: "Fatal" }]);
    expect(output.results?.[1]?.message).toContain(field);
  });
});
