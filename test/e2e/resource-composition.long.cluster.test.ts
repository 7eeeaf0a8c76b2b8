import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FunctionServer, serveTestFunction } from "../../packages/function-grpc/testing/function-server.ts";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";

// The kinds of Crossplane's design "Resource Composition", with its own YAML.

const TIMEOUT = { timeout: 60_000, interval: 100 };
const INFRASTRUCTURE = "mysqlinstances.database.example.org";
const APPLICATION = "wordpresses.apps.example.org";

/** A document of the design, literally. */
const written = (name: string): string =>
  readFileSync(new URL(`../unit/testdata/resource-composition/${name}.yaml`, import.meta.url), "utf8");

/** A kind of a provider, without a controller. */
const providerCrd = (group: string, version: string, kind: string, scope = "Cluster"): string => {
  const plural = `${kind.toLowerCase()}s`;
  return `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ${plural}.${group} }
spec:
  group: ${group}
  scope: ${scope}
  names: { kind: ${kind}, plural: ${plural} }
  versions:
    - name: ${version}
      served: true
      storage: true
      subresources: { status: {} }
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
`;
};

const COMPOSED = ["resourcegroups", "mysqlservers", "mysqlservervirtualnetworkrules"];

describe("Resource Composition", needs("api-server"), () => {
  let server: TestApiServer;
  let controller: RunningController;
  let fn: FunctionServer;

  beforeAll(async () => {
    server = await startApiServer();
    // A function that composes in a namespace of its own choice.
    fn = await serveTestFunction(() => ({
      resources: {
        far: { resource: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "far", namespace: "kube-system" } } },
      },
    }));
    const args = ["--poll-interval", "10m", "--enable-resource-composition", "--namespace", "crossplane-system"];
    args.push("--enable-composition-functions", "--function", `function-far=http://${fn.address}`);
    controller = await startController(server.admin.kubeconfig, { args });
    await server.kubectl(["create", "namespace", "crossplane-system"]);
    // The design's definitions name these accounts, with whose rights the controller composes.
    for (const account of [INFRASTRUCTURE, APPLICATION]) {
      await server.kubectl(["create", "serviceaccount", account, "-n", "crossplane-system"]);
      const subject = `--serviceaccount=crossplane-system:${account}`;
      await server.kubectl(["create", "clusterrolebinding", account, "--clusterrole=cluster-admin", subject]);
    }
    await apply(
      providerCrd("azure.crossplane.io", "v1alpha3", "ResourceGroup") +
        providerCrd("database.azure.crossplane.io", "v1beta1", "MySQLServer") +
        providerCrd("database.azure.crossplane.io", "v1alpha3", "MySQLServerVirtualNetworkRule"),
    );
  });
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    fn?.stop();
    await server?.stop();
  });

  const apply = (yaml: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input: yaml });
  const refusal = (yaml: string): Promise<string> => apply(yaml).then(() => "", String);
  const create = (yaml: string): Promise<void> => expect.poll(() => refusal(yaml), TIMEOUT).toBe("");
  const get = async (...what: readonly string[]): Promise<string> => (await server.kubectl(["get", ...what])).trim();
  const field = (path: string, ...what: readonly string[]): Promise<string> => get(...what, "-o", `jsonpath={${path}}`);
  const condition = (type: string, part: "reason" | "message" | "status", ...what: readonly string[]) =>
    field(`.status.conditions[?(@.type=="${type}")].${part}`, ...what);
  const untilCondition = (type: string, reason: string, ...what: readonly string[]): Promise<void> =>
    expect.poll(() => condition(type, "reason", ...what).catch(String), TIMEOUT).toBe(reason);
  const names = async (kind: string, ...more: readonly string[]): Promise<string[]> =>
    (await field(".items[*].metadata.name", kind, ...more)).split(" ").filter((name) => name !== "");

  /** Acts as the provider of a composite's resources: writes a connection secret, and the condition Ready. */
  const provision = async (composite: string): Promise<void> => {
    const selector = ["-l", `crossplane.io/composite=${composite}`];
    for (const kind of COMPOSED) await expect.poll(() => names(kind, ...selector), TIMEOUT).toHaveLength(1);
    const [server_ = ""] = await names("mysqlservers", ...selector);
    const secret = await field(".spec.writeConnectionSecretToRef.name", "mysqlserver", server_);
    const uid = await field(".metadata.uid", "mysqlserver", server_);
    await apply(`
apiVersion: v1
kind: Secret
metadata:
  name: ${secret}
  namespace: crossplane-system
  ownerReferences:
    - { apiVersion: database.azure.crossplane.io/v1beta1, kind: MySQLServer, name: ${server_}, uid: ${uid}, controller: true }
stringData: { username: admin, password: of-${composite}, endpoint: db.example.org, port: "3306" }
`);
    const status = JSON.stringify({
      status: {
        conditions: [
          { type: "Ready", status: "True", reason: "Available", lastTransitionTime: "2026-01-01T00:00:00Z" },
        ],
      },
    });
    for (const kind of COMPOSED)
      for (const name of await names(kind, ...selector))
        await server.kubectl(["patch", kind, name, "--subresource=status", "--type=merge", "-p", status]);
  };

  test("an InfrastructureDefinition establishes a cluster-scoped kind that the design's Composition composes", async () => {
    await apply(written("infrastructure-definition"));
    await untilCondition("Established", "WatchingCompositeResource", "infrastructuredefinition", INFRASTRUCTURE);
    const schema = ".spec.versions[0].schema.openAPIV3Schema.properties.spec.properties";
    expect(await field(`${schema}.storageGB.type`, "crd", INFRASTRUCTURE)).toBe("integer");
    expect(await field(".metadata.ownerReferences[0].kind", "crd", INFRASTRUCTURE)).toBe("InfrastructureDefinition");
    await apply(written("composition"));
    // The definition enforces a Composition of this name.
    await apply(written("composition").replace("name: private-mysql-server", `name: ${INFRASTRUCTURE}`));
    await create(written("mysql-instance"));
    await provision("sql");
    await untilCondition("Ready", "Available", "mysqlinstance", "sql");
    expect(await field(".spec.compositionRef.name", "mysqlinstance", "sql")).toBe(INFRASTRUCTURE);
    expect(
      await field(".items[*].spec.forProvider.storageMB", "mysqlservers", "-l", "crossplane.io/composite=sql"),
    ).toBe("10240");
    const data = JSON.parse(await field(".data", "secret", "sql", "-n", "crossplane-system"));
    expect(Object.keys(data).toSorted()).toEqual(["endpoint", "password", "username"]);
  });

  test("infrastructure composes a namespaced kind only if its definition says so", async () => {
    const name = "buckets.database.example.org";
    const definition = (scope: string) => `
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: InfrastructureDefinition
metadata: { name: ${name} }
spec:
  ${scope}
  crdSpecTemplate:
    group: database.example.org
    version: v1alpha1
    names: { kind: Bucket, plural: buckets }
    validation: { openAPIV3Schema: { type: object, properties: { inNamespace: { type: string } } } }
  defaultCompositionRef: { name: ${name} }
`;
    await apply(definition(""));
    expect(await refusal(definition("composedScope: Namespaced"))).toContain("composedScope");
    await apply(`
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: ${name} }
spec:
  compositeTypeRef: { apiVersion: database.example.org/v1alpha1, kind: Bucket }
  resources:
    - name: settings
      base: { apiVersion: v1, kind: ConfigMap }
      patches: [{ type: FromCompositeFieldPath, fromFieldPath: spec.inNamespace, toFieldPath: metadata.namespace }]
      readinessChecks: [{ type: None }]
    - { name: group, base: { apiVersion: azure.crossplane.io/v1alpha3, kind: ResourceGroup }, readinessChecks: [{ type: None }] }
`);
    await create(`
apiVersion: database.example.org/v1alpha1
kind: Bucket
metadata: { name: logs }
spec: { inNamespace: default, writeConnectionSecretToRef: { namespace: crossplane-system, name: logs } }
`);
    await untilCondition("Synced", "ReconcileError", "bucket", "logs");
    expect(await names("resourcegroups", "-l", "crossplane.io/composite=logs")).toEqual([]);
    await apply(definition("composedScope: Any"));
    await untilCondition("Ready", "Available", "bucket", "logs");
    expect(await names("configmaps", "-n", "default", "-l", "crossplane.io/composite=logs")).toHaveLength(1);
    await server.kubectl(["delete", "infrastructuredefinition", name]);
  });

  test("an InfrastructurePublication offers it as a requirement, bound statically and dynamically", async () => {
    await apply(written("infrastructure-publication"));
    await untilCondition("Offered", "WatchingCompositeResourceClaim", "infrastructurepublication", INFRASTRUCTURE);
    const kinds = ".items[*].spec.names.kind";
    expect(await field(kinds, "crds", "-l", "apiextensions.crossplane.io/defined=true")).toContain(
      "MySQLInstanceRequirement",
    );
    // The design writes these two references as lists here and as objects elsewhere: only objects are accepted.
    const requirement = written("mysql-instance-requirement");
    await expect.poll(() => refusal(requirement), TIMEOUT).toContain("spec.resourceRef");
    const objects = requirement.replaceAll(/Ref:\n {2}- name:/g, "Ref:\n    name:");
    await create(objects.replace("default-sql-dd02m", "sql"));
    await untilCondition("Ready", "Available", "mysqlinstancerequirement", "sql");
    const copied = JSON.parse(await field(".data", "secret", "sql"));
    expect(copied).toEqual(JSON.parse(await field(".data", "secret", "sql", "-n", "crossplane-system")));
    // Without a reference, one is provisioned, with a Secret in the controller's namespace.
    await create(objects.replace(/ {2}resourceRef:\n.*\n/, "").replaceAll("name: sql", "name: own"));
    await expect.poll(() => field(".spec.resourceRef.name", "mysqlinstancerequirement", "own"), TIMEOUT).not.toBe("");
    const own = await field(".spec.resourceRef.name", "mysqlinstancerequirement", "own");
    await provision(own);
    await untilCondition("Ready", "Available", "mysqlinstancerequirement", "own");
    expect(await field(".spec.writeConnectionSecretToRef.namespace", "mysqlinstance", own)).toBe("crossplane-system");
    expect(JSON.parse(await field(".spec.requirementRef", "mysqlinstance", own))).toMatchObject({
      kind: "MySQLInstanceRequirement",
      name: "own",
      namespace: "default",
    });
    expect(Buffer.from(await field(".data.password", "secret", "own"), "base64").toString()).toBe(`of-${own}`);
    await server.kubectl([
      "patch",
      "mysqlinstancerequirement",
      "own",
      "--type=merge",
      "-p",
      '{"spec":{"storageGB":20}}',
    ]);
    await expect
      .poll(
        () => field(".items[0].spec.forProvider.storageMB", "mysqlservers", "-l", `crossplane.io/composite=${own}`),
        TIMEOUT,
      )
      .toBe("20480");
  });

  test("a deleted publication ends its requirements first, and its definition waits for it", async () => {
    const own = await field(".spec.resourceRef.name", "mysqlinstancerequirement", "own");
    await server.kubectl(["delete", "infrastructuredefinition", INFRASTRUCTURE, "--wait=false"]);
    await untilCondition("Established", "TerminatingCompositeResource", "infrastructuredefinition", INFRASTRUCTURE);
    expect(await condition("Established", "message", "infrastructuredefinition", INFRASTRUCTURE)).toContain(
      "InfrastructurePublication",
    );
    expect(await names("mysqlinstances")).toEqual(expect.arrayContaining([own, "sql"]));
    await server.kubectl(["delete", "infrastructurepublication", INFRASTRUCTURE, "--timeout=120s"]);
    await server.kubectl(["wait", "--for=delete", `infrastructuredefinition/${INFRASTRUCTURE}`, "--timeout=120s"]);
    await expect.poll(() => get("mysqlservers", "-o", "name"), TIMEOUT).toBe("");
    expect(await get("crds", "-l", "apiextensions.crossplane.io/defined=true", "-o", "name")).toBe("");
  });

  test("an application composes in its own namespace only, and is refused before any write otherwise", async () => {
    await apply(written("application-definition"));
    await untilCondition("Established", "WatchingCompositeResource", "applicationdefinition", APPLICATION);
    const composition = (patch: string, more = "") => `
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: Composition
metadata: { name: ${APPLICATION} }
spec:
  from: { apiVersion: apps.example.org/v1alpha1, kind: Wordpress }
  to:
    - name: settings
      base: { apiVersion: v1, kind: ConfigMap }
      patches: [{ fromFieldPath: spec.storageType, toFieldPath: data.type }${patch}]
      readinessChecks: [{ type: None }]
${more}`;
    await apply(composition(", { fromFieldPath: spec.administratorLogin, toFieldPath: metadata.namespace }"));
    // The group in the design's example differs from that of its definition.
    const wordpress = written("wordpress")
      .replace("apiVersion: example.org/", "apiVersion: apps.example.org/")
      .replaceAll(/Ref:\n {2}- name:/g, "Ref:\n    name:");
    await create(wordpress);
    await untilCondition("Synced", "ReconcileError", "wordpress", "coolblog");
    const group = "    - { name: group, base: { apiVersion: azure.crossplane.io/v1alpha3, kind: ResourceGroup } }";
    await apply(composition("", group));
    await expect
      .poll(() => condition("Synced", "message", "wordpress", "coolblog"), TIMEOUT)
      .toContain("is a ResourceGroup, which is cluster-scoped");
    await apply(`
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: ${APPLICATION} }
spec:
  compositeTypeRef: { apiVersion: apps.example.org/v1alpha1, kind: Wordpress }
  mode: Pipeline
  pipeline: [{ step: far, functionRef: { name: function-far } }]
`);
    await expect
      .poll(() => condition("Synced", "message", "wordpress", "coolblog"), TIMEOUT)
      .toContain('"far" is in the namespace kube-system');
    expect(await names("configmaps", "-A", "-l", "crossplane.io/composite=coolblog")).toEqual([]);
    await server.kubectl(["delete", "composition", APPLICATION]);
    await apply(composition(""));
    await untilCondition("Ready", "Available", "wordpress", "coolblog");
    const [name = ""] = await names("configmaps", "-l", "crossplane.io/composite=coolblog");
    expect(JSON.parse(await field(".spec.resourceRefs", "wordpress", "coolblog"))).toContainEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      name,
    });
  });

  test("impossible commands are rejected with advice", async () => {
    const publication = written("infrastructure-publication");
    await apply(publication);
    await untilCondition("Offered", "DefinitionNotFound", "infrastructurepublication", INFRASTRUCTURE);
    const primitive = "mysqlservers.database.azure.crossplane.io";
    await apply(publication.replaceAll(INFRASTRUCTURE, primitive));
    await untilCondition("Offered", "NotInfrastructure", "infrastructurepublication", primitive);
    expect(await refusal(publication.replace(INFRASTRUCTURE, "other.example.org"))).toContain("metadata.name must be");
    const definition = written("infrastructure-definition");
    expect(await refusal(definition.replace(`name: ${INFRASTRUCTURE}`, "name: other.example.org"))).toContain(
      "metadata.name must be",
    );
    // Two forms for one CRD: the first has it.
    await apply(
      definition.replace(
        "            type: int\n",
        "            type: int\n          resourceRefs:\n            type: string\n",
      ),
    );
    await untilCondition("Established", "InvalidDefinition", "infrastructuredefinition", INFRASTRUCTURE);
    expect(await condition("Established", "message", "infrastructuredefinition", INFRASTRUCTURE)).toContain(
      "resourceRefs",
    );
    await apply(definition);
    await untilCondition("Offered", "WatchingCompositeResourceClaim", "infrastructurepublication", INFRASTRUCTURE);
    await apply(
      definition
        .replace("kind: InfrastructureDefinition", "kind: ApplicationDefinition")
        .replace(/ {2}connectionDetails:\n(?: {2}- .*\n)+/, ""),
    );
    await untilCondition("Established", "CRDOfAnother", "applicationdefinition", INFRASTRUCTURE);
    expect(await condition("Established", "message", "applicationdefinition", INFRASTRUCTURE)).toContain(
      `InfrastructureDefinition ${INFRASTRUCTURE}`,
    );
    // A Composition that breaks the contract is not ready.
    await apply(
      written("composition")
        .replace("name: private-mysql-server", `name: ${INFRASTRUCTURE}`)
        .replace(/ {4}- name: password\n.*\n/, ""),
    );
    await create(written("mysql-instance").replace(/ {2}resourceRefs:\n(?: {2}[- ].*\n)+/, ""));
    await provision("sql");
    await untilCondition("Ready", "ConnectionContract", "mysqlinstance", "sql");
    expect(await condition("Ready", "message", "mysqlinstance", "sql")).toContain('"password"');
  });
});
