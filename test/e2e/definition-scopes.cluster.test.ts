import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";
import { XFN_MAIN } from "../harness/paths.ts";

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
    server = await startApiServer({ users: ["ada"] });
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
      // The author's own field of this name is not one of the controller's.
      await expect.poll(() => field(".status.connectionDetails", "app/shop", "-n", team)).toBe(team);
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

  test("xfn validate takes the CRDs of the cluster", async () => {
    const text = instance("App", "wrong", "namespace: team-a", "replicas: many");
    const command = [XFN_MAIN, "validate", "cluster:", "-", "--kubeconfig", server.user("admin").kubeconfig];
    const child = promisify(execFile)(process.execPath, command, { env: { PATH: process.env["PATH"] } });
    child.child.stdin?.end(text);
    await expect(child).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining("spec.replicas") });
  });

  test.each([
    ["types", /^export interface App \{/m],
    ["schema", /"base\.example\.org_v1\.App":/],
  ])("xfn %s reads the CRDs of the cluster", async (name, written) => {
    const { kubeconfig } = server.user("admin");
    const command = [XFN_MAIN, name, "cluster:", "--kinds", "App.example.org", "--kubeconfig", kubeconfig];
    const { stdout } = await promisify(execFile)(process.execPath, command, { env: { PATH: process.env["PATH"] } });
    expect(stdout).toMatch(written);
  });

  describe("xfn trace", () => {
    const as = async (user: string, ...args: readonly string[]): Promise<{ stdout: string; stderr: string }> => {
      const command = [XFN_MAIN, "trace", ...args, "--kubeconfig", server.user(user).kubeconfig];
      return promisify(execFile)(process.execPath, command, { env: { PATH: process.env["PATH"] } });
    };
    const trace = async (...args: readonly string[]): Promise<string> => (await as("admin", ...args)).stdout;
    const shape = (node: { object: { kind: string; metadata: object }; children?: never[] }): unknown => [
      node.object.kind,
      ...(node.children ?? []).map(shape),
    ];

    test("shows the tree of a namespaced XR through the XRs that it composes", async () => {
      await define("Suite", "", "v2", "{ apiVersion: example.org/v1, kind: App, spec: { size: nested } }");
      await create(instance("Suite", "all", "namespace: team-a", "replicas: 2"));
      await server.kubectl(["wait", "suite/all", "-n", "team-a", "--for=condition=Ready", "--timeout=60s"]);
      await server.kubectl(["wait", "apps", "--all", "-n", "team-a", "--for=condition=Ready", "--timeout=60s"]);
      const table = await trace("suite", "all", "-n", "team-a");
      expect(table).toMatch(
        /^NAME +SYNCED +READY +STATUS\nSuite\/all \(team-a\) +True +True +Available\n└─ App\/\S+ \(team-a\) +True +True +Available\n {3}└─ ConfigMap\/\S+ \(team-a\) +- +-\n$/,
      );
      for (const type of ["Suite/all", "suites.example.org/all", "sui.v1.example.org/all"])
        expect(await trace(type, "-n", "team-a")).toBe(table);
      expect(await trace("suite/all", "-n", "team-a", "-o", "wide")).toMatch(/RESOURCE[^]* settings /);
      const json = await trace("suite/all", "-n", "team-a", "-o", "json", "--events");
      expect(shape(JSON.parse(json))).toEqual(["Suite", ["App", ["ConfigMap"]]]);
      expect(JSON.parse(json)).toMatchObject({
        events: expect.arrayContaining([expect.objectContaining({ count: 1 })]),
      });
      expect(await trace("suite/all", "-n", "team-a", "-o", "yaml")).toContain("\nchildren:\n- object:");
      expect(await trace("suite/all", "-n", "team-a", "-o", "dot")).toMatch(
        /n1 \[label="Name: Suite\/all[^]*\tn2 -- n3;/,
      );
      expect(await trace("suite/all", "-n", "team-a", "--events")).toMatch(
        /\n\nLAST SEEN +TYPE[^]*Suite\/all \(team-a\)/,
      );
      await server.kubectl(["delete", "suite/all", "-n", "team-a", "--timeout=60s"]);
    });

    test("shows missing and forbidden objects, and connection secrets without their values", async () => {
      await apply(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: claims.trace.example.org }
spec:
  group: trace.example.org
  names: { kind: Claim, plural: claims }
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
`);
      const spec =
        "resourceRef: { apiVersion: trace.example.org/v1, kind: Claim, name: xr }, " +
        "writeConnectionSecretToRef: { name: keys }";
      const claim = (name: string, fields: string): string =>
        `apiVersion: trace.example.org/v1\nkind: Claim\nmetadata: { name: ${name}, namespace: team-a }\nspec: { ${fields} }\n`;
      const composed =
        "{ apiVersion: v1, kind: ConfigMap, name: gone }, { apiVersion: v1, kind: Secret, name: keys }, " +
        "{ apiVersion: none.example.org/v1, kind: Nothing, name: x }, { apiVersion: trace.example.org/v1, kind: Claim, name: top }";
      await create(claim("top", spec));
      await apply(claim("xr", `resourceRefs: [${composed}]`));
      await apply(
        "apiVersion: v1\nkind: Secret\nmetadata: { name: keys, namespace: team-a }\nstringData: { a: s3cret }\n",
      );
      const table = await trace("claim.trace.example.org", "top", "-n", "team-a", "-s");
      expect(table.split("\n").map((line) => line.replace(/ {3,}/g, " | "))).toEqual([
        "NAME | SYNCED | READY | STATUS",
        "Claim/top (team-a) | - | -",
        "├─ Claim/xr (team-a) | - | -",
        "│  ├─ ConfigMap/gone (team-a) | - | - | Error: not found",
        "│  ├─ Secret/keys (team-a) | - | -",
        expect.stringMatching(/^│ {2}├─ Nothing\/x \| - \| - \| Error: .*/),
        "│  └─ Claim/top (team-a) | - | - | Error: refers to itself through its children",
        "└─ Secret/keys (team-a) | - | -",
        "",
      ]);
      const json = await trace("claims/top", "-n", "team-a", "-s", "-o", "json");
      expect(json).toContain("(hidden)");
      expect(json).not.toContain(Buffer.from("s3cret").toString("base64"));
      const role = ["create", "role", "traces", "-n", "team-a", "--verb=get", "--resource=claims.trace.example.org"];
      await server.kubectl(role);
      await server.kubectl(["create", "rolebinding", "traces", "-n", "team-a", "--role=traces", "--user=ada"]);
      await expect.poll(() => as("ada", "claims/top", "-n", "team-a").catch(String), TIMEOUT).toHaveProperty("stdout");
      expect((await as("ada", "claims/top", "-n", "team-a", "-o", "wide")).stdout).toMatch(
        /Secret\/keys \(team-a\) +- +- +Error: .*forbidden/,
      );
    });

    test.each([
      ["a missing object", ["app", "nothing", "-n", "team-a"], 1, /there is no App nothing in the namespace team-a/],
      ["an unknown kind", ["unicorn/x"], 1, /the API server has no kind "unicorn"/],
      ["no name", ["app"], 2, /write KIND NAME or KIND\/NAME/],
    ])("of %s fails, and says why", async (_, args, code, message) => {
      await expect(trace(...args)).rejects.toMatchObject({ code, stdout: "", stderr: expect.stringMatching(message) });
    });
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
    await expect.poll(() => synced("tenant/elsewhere", "-n", "team-a"), TIMEOUT).toBe("ReconcileError");
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
