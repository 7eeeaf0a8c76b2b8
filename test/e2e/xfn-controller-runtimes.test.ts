import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildGoProgram, buildGrpcImage } from "../harness/grpc-function.ts";
import { needs } from "../harness/needs.ts";
import { type PackageCluster, startPackageCluster } from "../harness/package-cluster.ts";

// FunctionRuntimes of Crossplane's design "Controlled Rollout of Composition Functions (v2)", with its own examples. A
// registry on this machine is the mirror of the one that they name.

const REPOSITORY = "crossplane-contrib/function-patch-and-transform";

/** As the design document has it. */
const COMPOSITION = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: example
spec:
  compositeTypeRef:
    apiVersion: custom-api.example.org/v1alpha1
    kind: AcmeBucket
  mode: Pipeline
  pipeline:
  - step: patch-and-transform
    functionRef:
      package: xpkg.crossplane.io/crossplane-contrib/function-patch-and-transform:v0.8.2
    input:
      # Removed for brevity
`;

/** As the design document has it. */
const XR = `
apiVersion: custom-api.example.org/v1alpha1
kind: AcmeBucket
metadata:
  name: my-bucket
spec:
  compositionUpdatePolicy: Manual
  compositionRevisionSelector:
    matchLabels:
      release-channel: alpha
`;

const DEFINITION = `
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: { name: acmebuckets.custom-api.example.org }
spec:
  group: custom-api.example.org
  names: { kind: AcmeBucket, plural: acmebuckets }
  versions:
    - name: v1alpha1
      served: true
      referenceable: true
      schema: { openAPIV3Schema: { type: object, properties: { spec: { type: object } } } }
`;

const NEEDS = needs("api-server", "crun", "docker-registry", "go-functions");

describe("xfn-controller pins the functions of CompositionRevisions", NEEDS, () => {
  let cluster: PackageCluster;

  beforeAll(async () => {
    cluster = await startPackageCluster({
      controller: ["--enable-function-runtimes"],
      access: (host) => ["--mirror", `xpkg.crossplane.io=${host}`],
    });
    const program = buildGoProgram("go-greeting");
    for (const [name, GREETING] of [
      ["old", "Hello"],
      ["new", "Hi"],
    ] as const) {
      await buildGrpcImage(cluster.workspace, { name, program, env: { GREETING, NAMESPACE: "default" } });
    }
    await publish("old");
    await apply(DEFINITION);
    await kubectl("wait", "xrd", "--all", "--for=condition=Established", "--timeout=60s");
  }, 900_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const publish = (from: string): Promise<void> => cluster.publish(from, `${REPOSITORY}:v0.8.2`);
  const apply = (yaml: string): Promise<string> => cluster.apply(yaml);
  const get = (...args: readonly string[]): Promise<string> => cluster.get(...args);
  const kubectl = (...args: readonly string[]): Promise<string> => cluster.server.kubectl(args);
  const greeting = async (): Promise<string> =>
    (await get("configmaps", "-o", "jsonpath={.items[*].data.greeting}")).trim();
  const names = async (what: string): Promise<string[]> => (await get(what, "-o", "name")).split("\n").filter(Boolean);
  const revisionOf = (): Promise<string> =>
    get("acmebucket", "my-bucket", "-o", "jsonpath={.spec.compositionRevisionRef.name}");
  const ownersOf = async (runtime: string): Promise<string[]> => {
    const path = "{range .metadata.ownerReferences[*]}{.kind} {.controller}{'\\n'}{end}";
    return (await get(runtime, "-o", `jsonpath=${path}`)).split("\n").map((line) => line.trim());
  };
  /** Makes a new revision, whose tag is resolved anew. */
  const label = (channel: string): Promise<string> =>
    kubectl("label", "composition", "example", "--overwrite", `release-channel=${channel}`);

  let first = "";

  test("as the design's examples show", async () => {
    await apply(COMPOSITION);
    await label("alpha");
    await expect.poll(() => apply(XR).then(() => "", String)).toBe("");
    await kubectl("wait", "acmebucket/my-bucket", "--for=condition=Synced", "--timeout=60s");
    expect(await greeting()).toBe("Hello");
    first = await revisionOf();
    const runtimes = await names("functionruntimes");
    expect(runtimes).toEqual([
      expect.stringMatching(/\/crossplane-contrib-function-patch-and-transform-[0-9a-f]{12}$/),
    ]);
    const [runtime = ""] = runtimes;
    // The revision without the label owns it too, and none controls it.
    expect(await ownersOf(runtime)).toEqual(["CompositionRevision", "CompositionRevision"]);
    expect(await get(runtime, "-o", "jsonpath={.spec.package} {.status.endpoint}")).toMatch(
      /^xpkg\.crossplane\.io\/crossplane-contrib\/function-patch-and-transform@sha256:[0-9a-f]{64} unix:/,
    );
    await kubectl("wait", "compositionrevision", first, "--for=condition=RuntimesHealthy", "--timeout=60s");
  });

  test("so that a tag that moved reaches only new revisions, and a rollback runs what ran before", async () => {
    await publish("new");
    await label("beta");
    await expect.poll(() => names("functionruntimes"), { timeout: 60_000 }).toHaveLength(2);
    await kubectl("annotate", "acmebucket", "my-bucket", "seen=beta");
    await kubectl("wait", "functionruntimes", "--all", "--for=condition=Healthy", "--timeout=60s");
    expect(await greeting()).toBe("Hello");
    const select = (spec: object): Promise<string> =>
      kubectl("patch", "acmebucket", "my-bucket", "--type=merge", "-p", JSON.stringify({ spec }));
    const matchLabels = { "release-channel": "beta" };
    await select({ compositionRevisionSelector: { matchLabels }, compositionRevisionRef: null });
    await expect.poll(greeting).toBe("Hi");
    expect(await revisionOf()).not.toBe(first);
    await select({ compositionRevisionRef: { name: first } });
    await expect.poll(greeting).toBe("Hello");
  });

  test("and a Function shares the runtime of its version", async () => {
    const source = `${cluster.registry.host}/${REPOSITORY}:v0.8.2`;
    await apply(
      `apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: { name: fn }\nspec: { package: "${source}" }\n`,
    );
    await kubectl("wait", "function/fn", "--for=condition=Healthy", "--timeout=60s");
    expect(await names("functionruntimes")).toHaveLength(2);
    const owners = await Promise.all((await names("functionruntimes")).map(ownersOf));
    expect(owners.filter((one) => one.includes("FunctionRevision"))).toHaveLength(1);
  });

  test("and nothing is left of a deleted Composition and Function", async () => {
    await kubectl("delete", "acmebucket/my-bucket", "composition/example", "--timeout=60s");
    await expect.poll(() => names("compositionrevisions"), { timeout: 60_000 }).toEqual([]);
    await expect.poll(() => names("functionruntimes"), { timeout: 60_000 }).toHaveLength(1);
    await kubectl("delete", "function/fn", "--timeout=60s");
    await expect.poll(() => names("functionruntimes"), { timeout: 60_000 }).toEqual([]);
    expect(await names("functionrevisions")).toEqual([]);
  });
});
