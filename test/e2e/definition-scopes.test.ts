import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";

const TIMEOUT = { timeout: 60_000 };

/** A definition of apps; `more` has further fields of its spec in YAML. */
const definition = (kind: string, more = "", version = "v2"): string => `
apiVersion: apiextensions.crossplane.io/${version}
kind: CompositeResourceDefinition
metadata: { name: ${kind.toLowerCase()}s.example.org }
spec:
  group: example.org
  names: { kind: ${kind}, plural: ${kind.toLowerCase()}s, shortNames: [${kind.toLowerCase().slice(0, 3)}], categories: [apps] }
  ${more}
  versions:
    - name: v1
      served: true
      referenceable: true
      subresources: { scale: { specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas } }
      additionalPrinterColumns: [{ name: SIZE, type: string, jsonPath: .spec.size }]
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                size: { type: string }
                replicas: { type: integer, default: 1 }
                resourceRefs: { type: string }
                claimRef: { type: string }
            status:
              type: object
              properties: { replicas: { type: integer }, connectionDetails: { type: string } }
`;

const composition = (kind: string, resource: string): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: ${kind.toLowerCase()} }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: ${kind} }
  resources:
    - name: settings
      base: ${resource}
      patches:
        - { fromFieldPath: spec.size, toFieldPath: data.size }
        - { fromFieldPath: "metadata.annotations[place]", toFieldPath: metadata.namespace }
        - { type: ToCompositeFieldPath, fromFieldPath: data.size, toFieldPath: status.connectionDetails }
      readinessChecks: [{ type: None }]
`;

const CONFIG_MAP = "{ apiVersion: v1, kind: ConfigMap }";
const NAMESPACE = "{ apiVersion: v1, kind: Namespace }";

const instance = (kind: string, name: string, metadata: string, spec = "size: small"): string =>
  `apiVersion: example.org/v1\nkind: ${kind}\nmetadata: { name: ${name}, ${metadata} }\nspec: { ${spec} }\n`;

describe("the scope of a definition", needs("api-server"), () => {
  let server: TestApiServer;
  let controller: RunningController;

  beforeAll(async () => {
    server = await startApiServer();
    controller = await startController(server.admin.kubeconfig, { args: ["--poll-interval", "10m"] });
    for (const name of ["team-a", "team-b"]) await server.kubectl(["create", "namespace", name]);
  });
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    await server?.stop();
  });

  const apply = (yaml: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input: yaml });
  const refusal = (yaml: string): Promise<string> => apply(yaml).then(() => "", String);
  const get = async (...what: readonly string[]): Promise<string> => (await server.kubectl(["get", ...what])).trim();
  const field = (path: string, ...what: readonly string[]): Promise<string> => get(...what, "-o", `jsonpath={${path}}`);
  const define = async (kind: string, more = "", version = "v2", resource = CONFIG_MAP): Promise<void> => {
    await apply(definition(kind, more, version));
    await apply(composition(kind, resource));
    const name = `xrd/${kind.toLowerCase()}s.example.org`;
    await server.kubectl(["wait", name, "--for=condition=Established", "--timeout=60s"]);
  };
  const create = (yaml: string): Promise<void> => expect.poll(() => refusal(yaml), TIMEOUT).toBe("");
  const synced = (...what: readonly string[]): Promise<string> =>
    field('.status.conditions[?(@.type=="Synced")].reason', ...what);

  test("is Namespaced by default in v2: XRs of each namespace compose there", async () => {
    await define("App");
    expect(await field(".spec.scope", "crd/apps.example.org")).toBe("Namespaced");
    for (const team of ["team-a", "team-b"])
      await create(instance("App", "shop", `namespace: ${team}`, `size: ${team}`));
    for (const team of ["team-a", "team-b"]) {
      await server.kubectl(["wait", "app/shop", "-n", team, "--for=condition=Ready", "--timeout=60s"]);
      expect(await field(".items[*].data.size", "configmaps", "-n", team, "-l", "crossplane.io/composite=shop")).toBe(
        team,
      );
      // The author's own field of this name is no bookkeeping of the controller's.
      expect(await field(".status.connectionDetails", "app/shop", "-n", team)).toBe(team);
    }
    const machinery = JSON.parse(await field(".spec.crossplane", "app/shop", "-n", "team-a"));
    const name = await field(
      ".items[*].metadata.name",
      "configmaps",
      "-n",
      "team-a",
      "-l",
      "crossplane.io/composite=shop",
    );
    expect(machinery).toEqual({
      compositionRef: { name: "app" },
      compositionRevisionRef: { name: expect.stringMatching(/^app-/) },
      compositionUpdatePolicy: "Automatic",
      resourceRefs: [{ apiVersion: "v1", kind: "ConfigMap", name }],
    });
    expect(await get("apps", "-n", "team-a")).toMatch(
      /SIZE +SYNCED +READY +COMPOSITION +AGE\nshop +team-a +True +True +app /,
    );
    expect(
      await field(
        ".metadata.labels.rbac\\.authorization\\.k8s\\.io/aggregate-to-edit",
        "clusterrole/crossplane:composite:apps.example.org:aggregate-to-edit",
      ),
    ).toBe("true");
  });

  test("follows changes of composed resources and of the XR, and deletes what it composed", async () => {
    const selector = ["configmaps", "-n", "team-b", "-l", "crossplane.io/composite=shop"];
    await server.kubectl(["delete", ...selector]);
    await expect.poll(() => field(".items[*].data.size", ...selector), TIMEOUT).toBe("team-b");
    await server.kubectl(["patch", "app/shop", "-n", "team-b", "--type=merge", "-p", '{"spec":{"size":"big"}}']);
    await expect.poll(() => field(".items[*].data.size", ...selector), TIMEOUT).toBe("big");
    await server.kubectl(["scale", "app/shop", "-n", "team-b", "--replicas=3"]);
    expect(await field(".spec.replicas", "app/shop", "-n", "team-b")).toBe("3");
    expect(await get("apps", "-n", "team-b", "-o", "name")).toBe(await get("app", "-n", "team-b", "-o", "name"));
    await server.kubectl(["delete", "app/shop", "-n", "team-b", "--timeout=60s"]);
    expect(await get(...selector, "-o", "name")).toBe("");
    expect(await get("configmaps", "-n", "team-a", "-l", "crossplane.io/composite=shop", "-o", "name")).not.toBe("");
  });

  test("keeps a namespaced XR away from objects outside its namespace that its user records", async () => {
    const metadata =
      "name: prey, namespace: team-b, labels: { crossplane.io/composite: thief }, " +
      "annotations: { crossplane.io/composition-resource-name: settings }";
    await apply(`apiVersion: v1\nkind: ConfigMap\nmetadata: { ${metadata} }\ndata: { size: mine }\n`);
    const role = metadata.replace(" namespace: team-b,", "");
    await apply(`apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: { ${role} }\nrules: []\n`);
    const references =
      "{ apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: prey }, " +
      "{ apiVersion: v1, kind: ConfigMap, name: prey }";
    const spec = `size: s, crossplane: { resourceRefs: [${references}] }`;
    await create(instance("App", "thief", "namespace: team-a", spec));
    await server.kubectl(["wait", "app/thief", "-n", "team-a", "--for=condition=Ready", "--timeout=50s"]);
    expect(await field(".data.size", "configmap/prey", "-n", "team-b")).toBe("mine");
    for (const prey of ["configmap/prey", "clusterrole/prey"])
      expect(await field(".metadata.ownerReferences", prey, "-n", "team-b")).toBe("");
    expect(await field(".spec.crossplane.resourceRefs[*].kind", "app/thief", "-n", "team-a")).toBe("ConfigMap");
    await server.kubectl(["delete", "app/thief", "-n", "team-a", "--timeout=60s"]);
    for (const prey of ["configmap/prey", "clusterrole/prey"])
      expect(await get(prey, "-n", "team-b", "-o", "name")).toContain("prey");
  });

  test("moves what a namespaced XR composes elsewhere to its namespace, with an event", async () => {
    await create(instance("App", "moved", "namespace: team-a, annotations: { place: team-b }"));
    await server.kubectl(["wait", "app/moved", "-n", "team-a", "--for=condition=Ready", "--timeout=60s"]);
    expect(await get("configmaps", "-n", "team-b", "-l", "crossplane.io/composite=moved", "-o", "name")).toBe("");
    await expect.poll(() => get("events", "-n", "team-a"), TIMEOUT).toContain("asked for namespace team-b");
  });

  test("refuses a cluster-scoped resource of a namespaced XR, and says what to do", async () => {
    await define("Tenant", "", "v2", NAMESPACE);
    await create(instance("Tenant", "elsewhere", "namespace: team-a"));
    await expect.poll(() => synced("tenant/elsewhere", "-n", "team-a"), TIMEOUT).toBe("OutsideNamespace");
    expect(
      await field('.status.conditions[?(@.type=="Synced")].message', "tenant/elsewhere", "-n", "team-a"),
    ).toContain("scope Cluster");
    expect(await get("namespaces", "-l", "crossplane.io/composite", "-o", "name")).toBe("");
  });

  test("can be Cluster in both versions: XRs compose in any namespace", async () => {
    for (const [kind, version] of [
      ["Fleet", "v1"],
      ["Plant", "v2"],
    ] as const) {
      await define(kind, "scope: Cluster", version);
      expect(await field(".spec.scope", `crd/${kind.toLowerCase()}s.example.org`)).toBe("Cluster");
      await create(instance(kind, "one", "annotations: { place: team-b }"));
      await server.kubectl(["wait", `${kind.toLowerCase()}/one`, "--for=condition=Ready", "--timeout=60s"]);
      const references = JSON.parse(await field(".spec.crossplane.resourceRefs", `${kind.toLowerCase()}/one`));
      expect(references).toMatchObject([{ kind: "ConfigMap", namespace: "team-b" }]);
      await server.kubectl(["delete", `${kind.toLowerCase()}/one`, "--timeout=60s"]);
    }
  });

  test("is LegacyCluster by default in v1, and every version shows it", async () => {
    await apply(
      definition("XOld", "", "v1")
        .replace("resourceRefs: { type: string }", "")
        .replace("claimRef: { type: string }", ""),
    );
    await apply(composition("XOld", CONFIG_MAP));
    await server.kubectl(["wait", "xrd/xolds.example.org", "--for=condition=Established", "--timeout=60s"]);
    for (const version of ["v1", "v2"]) {
      const resource = `compositeresourcedefinitions.${version}.apiextensions.crossplane.io`;
      expect(await field(".spec.scope", resource, "xolds.example.org")).toBe("LegacyCluster");
      expect(await field(".spec.scope", resource, "apps.example.org")).toBe("Namespaced");
    }
    await create(instance("XOld", "one", "annotations: { place: team-b }"));
    await server.kubectl(["wait", "xold/one", "--for=condition=Ready", "--timeout=60s"]);
    expect(await field(".spec.resourceRefs[*].namespace", "xold/one")).toBe("team-b");
  });

  test("cannot be changed, and the server names the way out", async () => {
    for (const [kind, scope, version] of [
      ["App", "Cluster", "v2"],
      ["XOld", "Cluster", "v1"],
      ["Fleet", "Namespaced", "v1"],
    ] as const)
      expect(await refusal(definition(kind, `scope: ${scope}`, version))).toMatch(
        /scope cannot be changed: .*define another kind/,
      );
  });

  test("of a new definition is refused if its CRD, with instances, has another", async () => {
    const xrd = "xrd/xolds.example.org";
    await server.kubectl(["delete", xrd, "--cascade=orphan", "--timeout=60s"]);
    await apply(definition("XOld", "scope: Cluster"));
    const established = '.status.conditions[?(@.type=="Established")]';
    await expect.poll(() => field(`${established}.reason`, xrd), TIMEOUT).toBe("ScopeChanged");
    expect(await field(`${established}.message`, xrd)).toContain("delete the CustomResourceDefinition");
    expect(await field(".spec.resourceRefs[*].namespace", "xold/one")).toBe("team-b");
  });

  test.each([
    ["claims in v2", "claimNames: { kind: AppClaim, plural: appclaims }", "v2"],
    [
      "claims of namespaced XRs in v1",
      "{ scope: Namespaced, claimNames: { kind: AppClaim, plural: appclaims } }",
      "v1",
    ],
    ["LegacyCluster in v2", "scope: LegacyCluster", "v2"],
  ])("has no %s", async (_, more, version) => {
    const fields = more.startsWith("{") ? more.slice(2, -2).replace(", claimNames", "\n  claimNames") : more;
    expect(await refusal(definition("Bad", fields, version))).toMatch(
      /claimNames need|Unsupported value: "LegacyCluster"/,
    );
  });

  test("ends with its definition: XRs of all namespaces, then the CRD", async () => {
    await server.kubectl(["delete", "xrd/apps.example.org", "--timeout=60s"]);
    expect(await get("crd/apps.example.org").catch(String)).toContain("NotFound");
    expect(await get("configmaps", "-A", "-l", "crossplane.io/composite=shop", "-o", "name")).toBe("");
  });
});
