import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { definitionYaml } from "../harness/definition-yaml.ts";
import { needs } from "../harness/needs.ts";

const QUIET = definitionYaml("XQuiet", {
  more: "claimNames: { kind: Quiet, plural: quiets }",
  spec: "{ type: object, properties: { size: { type: integer } } }",
});
const OBJECTS = `${QUIET}---
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: { name: xinvalids.example.org }
spec:
  group: example.org
  names: { kind: XInvalid, plural: xinvalids }
  versions: [{ name: v1, served: true, referenceable: true, schema: { openAPIV3Schema: { type: string } } }]
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: quiets }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XQuiet }
  resources:
    - name: settings
      base: { apiVersion: v1, kind: ConfigMap, metadata: { namespace: default } }
      patches:
        - { type: FromCompositeFieldPath, fromFieldPath: spec.claimRef.namespace, toFieldPath: metadata.namespace }
        - fromFieldPath: spec.size
          toFieldPath: data.size
          transforms: [{ type: convert, convert: { toType: string } }]
      readinessChecks: [{ type: None }]
`;
const CLAIM = "apiVersion: example.org/v1\nkind: Quiet\nmetadata: { name: q, namespace: default }\nspec: { size: 3 }\n";

// The polls of each kind to wait for. A definition and an XR of templates alone are polled once in sixty intervals.
const POLLS = {
  "CompositeResourceDefinition.apiextensions.crossplane.io": 1,
  "Composition.apiextensions.crossplane.io": 3,
  "XQuiet.example.org": 1,
  "Quiet.example.org": 3,
};
const POLLS_MS = 150_000;
const QUIET_MS = 5_000;

describe("a controller whose objects are as desired", needs("api-server"), () => {
  let server: TestApiServer;
  let controller: RunningController;

  beforeAll(async () => {
    server = await startApiServer();
    controller = await startController(server.admin.kubeconfig, { args: ["--poll-interval", "1s"] });
  });
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    await server?.stop();
  });

  /** The values of a counter, by its labels. */
  const counter = async (name: string): Promise<Map<string, number>> => {
    const text = await (await fetch(`${controller.http}/metrics`)).text();
    const lines = text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, "gm"));
    return new Map([...lines].map(([, labels = "", value]) => [labels, Number(value)]));
  };
  const reconciles = async (kind: string): Promise<number> =>
    (await counter("xfn_controller_reconciles_total")).get(`kind="${kind}",outcome="ok"`) ?? 0;

  test("sends no requests, although it polls definitions, Compositions, XRs and claims", {
    timeout: 300_000,
  }, async () => {
    const apply = (yaml: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input: yaml });
    await apply(OBJECTS);
    await server.kubectl(["wait", "xrd/xquiets.example.org", "--for=condition=Offered", "--timeout=60s"]);
    await expect.poll(() => apply(CLAIM).then(() => "", String), { timeout: 30_000 }).toBe("");
    await server.kubectl(["wait", "quiet/q", "--for=condition=Ready", "--timeout=60s"]);
    // The events of the last writes arrive, and their reconciles end.
    await expect
      .poll(
        async () => {
          const before = await counter("xfn_controller_api_requests_total");
          await sleep(QUIET_MS);
          const after = await counter("xfn_controller_api_requests_total");
          return [...after].filter(([labels, value]) => value !== before.get(labels));
        },
        { timeout: 60_000 },
      )
      .toEqual([]);
    const requests = await counter("xfn_controller_api_requests_total");
    const expected = await Promise.all(
      Object.entries(POLLS).map(async ([kind, polls]) => [kind, (await reconciles(kind)) + polls] as const),
    );
    for (const [kind, polled] of expected)
      await expect.poll(() => reconciles(kind), { timeout: POLLS_MS }).toBeGreaterThanOrEqual(polled);
    expect(await counter("xfn_controller_api_requests_total")).toEqual(requests);
  });

  test("still restores a role that another client deletes", async () => {
    const role = "crossplane:composite:xquiets.example.org:aggregate-to-view";
    const uid = (): Promise<string> => server.kubectl(["get", "clusterrole", role, "-o", "jsonpath={.metadata.uid}"]);
    const before = await uid();
    await server.kubectl(["delete", "clusterrole", role]);
    await expect.poll(() => uid().catch(() => before), { timeout: 30_000 }).not.toBe(before);
  });
});
