import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { definitionYaml } from "../harness/definition-yaml.ts";
import { needs } from "../harness/needs.ts";

const definition = (properties: string): string =>
  definitionYaml("XDisk", {
    more: "claimNames: { kind: Disk, plural: disks }",
    spec: `{ type: object, properties: { ${properties} } }`,
  });

const volumes = (properties: string): string => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: volumes.cloud.example.org }
spec:
  group: cloud.example.org
  scope: Cluster
  names: { kind: Volume, plural: volumes }
  versions:
    - name: v1
      served: true
      storage: true
      subresources: { status: {} }
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: { type: object, default: {}, properties: { ${properties} } }
            status: { type: object, x-kubernetes-preserve-unknown-fields: true }
`;

const composition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: disks }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XDisk }
  resources:
    - name: volume
      base: { apiVersion: cloud.example.org/v1, kind: Volume, spec: {} }
      patches:
        - { fromFieldPath: spec.size, toFieldPath: spec.size }
        - { type: ToCompositeFieldPath, fromFieldPath: spec.zone, toFieldPath: spec.zone }
      readinessChecks: [{ type: None }]
`;

describe("a new default in a schema", needs("api-server"), () => {
  let server: TestApiServer;
  let controller: RunningController;

  beforeAll(async () => {
    server = await startApiServer();
    // No test waits for a poll.
    controller = await startController(server.admin.kubeconfig, { args: ["--poll-interval", "10m"] });
  });
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    await server?.stop();
  });

  const apply = (yaml: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input: yaml });
  const get = async (what: string, path: string): Promise<string> =>
    (await server.kubectl(["get", what, "-o", `jsonpath={.items[*].${path}}`])).trim();

  test("reaches existing claims, XRs and composed resources", async () => {
    await apply(volumes("size: { type: integer }, zone: { type: string }"));
    await apply(definition("size: { type: integer }, zone: { type: string }"));
    await server.kubectl(["wait", "xrd/xdisks.example.org", "--for=condition=Offered", "--timeout=60s"]);
    await apply(composition);
    const claim = "apiVersion: example.org/v1\nkind: Disk\nmetadata: { name: disk, namespace: default }\nspec: {}\n";
    await expect.poll(() => apply(claim).then(() => "", String), { timeout: 30_000 }).toBe("");
    await server.kubectl(["wait", "disk/disk", "--for=condition=Ready", "--timeout=60s"]);

    await apply(definition("size: { type: integer, default: 7 }, zone: { type: string }"));
    await expect.poll(() => get("volumes", "spec.size"), { timeout: 60_000 }).toBe("7");

    await apply(volumes("size: { type: integer }, zone: { type: string, default: north }"));
    await expect.poll(() => get("xdisks", "spec.zone"), { timeout: 60_000 }).toBe("north");
    await expect.poll(() => get("disks", "spec.zone"), { timeout: 60_000 }).toBe("north");
  });

  test("is observed: conditions have the generation of the spec that they describe", async () => {
    const areCurrent = async (kind: string): Promise<boolean> => {
      const generation = await get(kind, "metadata.generation");
      const observed = await get(kind, "status.conditions[*].observedGeneration");
      return observed !== "" && observed.split(" ").every((one) => one === generation);
    };
    expect(await get("xrd", "metadata.generation")).toBe("2");
    for (const kind of ["disks", "xdisks", "compositions", "xrd"])
      await expect.poll(() => areCurrent(kind), { message: kind, timeout: 30_000 }).toBe(true);
  });
});
