import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { compose, fatal } from "@xfn/functionio/sdk";
import type { FunctionRunner } from "@xfn/runner-contract";
import { describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { inProcessRunner } from "../in-process.ts";
import { beside, converge, render, TestingError } from "./index.ts";

const COMPOSITE = { apiVersion: "example.org/v1", kind: "XStore", metadata: { name: "shop" }, spec: { size: 3 } };
const COMPOSITION = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: stores }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XStore }
  functions:
  - name: bucket
    type: Container
    container: { image: make-bucket:v1 }
  - name: policy
    type: Container
    container: { image: "oci:images/policy" }
`;

const bucket = compose(({ xr, desired }) => {
  desired.apply("bucket", {
    apiVersion: "s3.example.org/v1",
    kind: "Bucket",
    spec: { size: (xr["spec"] as { size: number }).size },
  });
});
const policy = compose(({ desired }) => {
  if (desired.resource("bucket") !== undefined) desired.apply("policy", { apiVersion: "v1", kind: "ConfigMap" });
});
const both = { composite: COMPOSITE, composition: COMPOSITION, functions: { bucket, policy } };

const folder = temporaryFolder();
const file = beside(pathToFileURL(join(folder, "some.test.ts")));
writeFileSync(join(folder, "xr.yaml"), JSON.stringify(COMPOSITE));
writeFileSync(join(folder, "composition.yaml"), `kind: Other\n---\n${COMPOSITION}`);
writeFileSync(join(folder, "scalar.yaml"), "text\n");
mkdirSync(join(folder, "observed"));
mkdirSync(join(folder, "empty"));
writeFileSync(join(folder, "observed", "notes.txt"), "no: [YAML");
writeFileSync(
  join(folder, "observed", "bucket.yml"),
  `
apiVersion: s3.example.org/v1
kind: Bucket
metadata: { name: there, annotations: { crossplane.io/composition-resource-name: bucket } }
`,
);

async function errorOf(run: () => unknown): Promise<Error & { code?: string }> {
  try {
    await run();
  } catch (error) {
    return error as Error & { code?: string };
  }
  throw new Error("nothing was thrown");
}

describe("render", () => {
  test("runs functions as handlers, by step name or by image, in the order of the Composition", async () => {
    const result = await render({ ...both, functions: { "make-bucket:v1": bucket, policy } });
    expect(result.names).toEqual(["bucket", "policy"]);
    expect(result.resource("bucket")?.["spec"]).toEqual({ size: 3 });
    expect(result.resource("nothing")).toBeUndefined();
  });

  test("reads files and folders in the test's folder, with other documents in them", async () => {
    const result = await render({
      composite: file("xr.yaml"),
      composition: file("composition.yaml"),
      functions: { bucket, policy },
      observed: file("observed"),
    });
    expect(result.resource("bucket")?.metadata?.name).toBe("there");
  });

  test("accepts observed resources by entry name, without names and annotations", async () => {
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    const observed = { bucket: { apiVersion: "s3.example.org/v1", kind: "Bucket", status } };
    const result = await render({ ...both, observed });
    expect(result.unready).toEqual(["policy"]);
    expect(result.resource("bucket")?.metadata?.name).toBe("shop-bucket");
    expect(observed.bucket).toEqual({ apiVersion: "s3.example.org/v1", kind: "Bucket", status });
  });

  test("runs other steps in a runner, and accepts a runner for one step", async () => {
    const seen: string[] = [];
    const echo: FunctionRunner = {
      run: async (image, input) => {
        seen.push(image);
        return input;
      },
    };
    await render({
      ...both,
      functions: { bucket: inProcessRunner({ "make-bucket:v1": (input) => input }) },
      runner: echo,
    });
    expect(seen).toEqual(["oci:images/policy"]);
    await render({ ...both, composition: file("composition.yaml"), functions: { bucket }, runner: echo });
    expect(seen[1]).toBe(`oci:${join(folder, "images/policy")}`);
  });

  test("does not let a function change the test's own objects", async () => {
    const composite = structuredClone(COMPOSITE);
    await render({ ...both, composite });
    composite.spec.size = 4;
    expect((await render({ ...both, composite })).resource("bucket")?.["spec"]).toEqual({ size: 4 });
  });

  test("returns a fatal result as a value", async () => {
    const result = await render({ ...both, functions: { bucket, policy: compose(() => fatal("not today")) } });
    expect(result.fatal).toEqual({ severity: "Fatal", message: "not today", step: "policy" });
    expect(result.names).toEqual([]);
  });

  test("reports warnings about the Composition", async () => {
    const composition = COMPOSITION.replace("functions:", "fnuctions: 1\n  functions:");
    expect((await render({ ...both, composition })).findings).toMatchObject([{ path: "spec.fnuctions" }]);
  });

  test("names the step of a function that throws", async () => {
    const broken = (): never => {
      throw new Error("no such luck");
    };
    const error = await errorOf(() => render({ ...both, functions: { bucket, policy: broken } }));
    expect(error).toMatchObject({ name: "PipelineError", code: "RunFailed", step: "policy" });
    expect(error.message).toContain("no such luck");
  });

  test("stops when its signal aborts", async () => {
    const signal = AbortSignal.abort();
    expect(await errorOf(() => render({ ...both, signal }))).toMatchObject({ code: "Aborted" });
  });
});

describe("wrong input of a test", () => {
  test.each([
    ["a path where a text belongs", { composite: "xr.yaml" }, ["composite", "beside(import.meta.url)"]],
    ["no file", { composite: file("no.yaml") }, ["composite", "no.yaml"]],
    ["a file without an object", { composite: file("scalar.yaml") }, ["composite", "scalar.yaml"]],
    ["a folder without YAML", { observed: file("empty") }, ["observed", "empty"]],
    ["a URL of the web", { composite: new URL("https://example.org/xr.yaml") }, ["composite", "https:"]],
    ["two where one belongs", { composite: "a: 1\n---\nb: 1" }, ["composite", "one"]],
    ["an empty text", { composition: "kind: A\n---\nkind: B" }, ["composition", "kind Composition"]],
    ["an object for a list", { observed: { apiVersion: "v1" } }, ["observed.apiVersion"]],
    ["a value that JSON does not have", { observed: { a: { b: Number.NaN } } }, ["observed.a"]],
    ["nothing", { composite: undefined }, ["composite", "undefined"]],
  ])("%s is an error that says so", async (_, wrong, words) => {
    const error = await errorOf(() => render({ ...both, ...(wrong as object) }));
    expect(error).toBeInstanceOf(TestingError);
    expect(error.code).toBe("InvalidInput");
    for (const word of words) expect(error.message).toContain(word);
  });

  test("an object that contains itself is refused", async () => {
    const loop: { self?: object } = {};
    loop.self = loop;
    expect(await errorOf(() => render({ ...both, composite: loop }))).toMatchObject({ code: "InvalidInput" });
  });

  test("text that is not YAML is reported with its line", async () => {
    const error = await errorOf(() => render({ ...both, composition: "a: 1\nb: [" }));
    expect(error.name).toBe("DocumentError");
    expect(error.message).toMatch(/^composition:2/);
  });

  test("all problems of a Composition are reported", async () => {
    const error = await errorOf(() => render({ ...both, composition: { kind: "Composition" } }));
    expect(error.name).toBe("CompositionError");
  });

  test("a step without a function is reported with its image and the known functions, before anything runs", async () => {
    const never = vi.fn<typeof bucket>(bucket);
    const error = await errorOf(() => render({ ...both, functions: { bucket: never } }));
    expect(error).toMatchObject({ name: "TestingError", code: "MissingFunction" });
    expect(error.message).toContain("(image oci:images/policy)");
    expect(error.message).toContain('functions has "bucket"');
    expect(never).not.toHaveBeenCalled();
  });

  test("a function for an unknown step is an error that suggests a name", async () => {
    const error = await errorOf(() => render({ ...both, functions: { buckte: bucket, policy } }));
    expect(error.code).toBe("UnknownFunction");
    expect(error.message).toContain('did you mean "bucket"?');
  });

  test("an import without a function is an error", async () => {
    const functions = { bucket, policy: undefined as unknown as typeof policy };
    expect((await errorOf(() => render({ ...both, functions }))).message).toContain('functions["policy"] is undefined');
  });

  test("beside needs a file: URL", () => {
    expect(() => beside("https://example.org/a.ts")).toThrow(TestingError);
  });
});

describe("converge", () => {
  const ready = (): object => ({ conditions: [{ type: "Ready", status: "True" }] });

  test("converges to the state of a cluster", async () => {
    const waits = compose(({ desired, observed }) => {
      if (observed.resource<{ status?: { id?: string } }>("bucket")?.status?.id === undefined) return;
      desired.apply("policy", { apiVersion: "v1", kind: "ConfigMap" });
    });
    const input = { ...both, functions: { bucket, policy: waits } };
    expect((await render(input)).names).toEqual(["bucket"]);
    const result = await converge(input, {
      status: (name) => ({ ...ready(), ...(name === "bucket" && { id: "b-1" }) }),
    });
    expect(result.names).toEqual(["bucket", "policy"]);
    expect(result).toBeReady();
    expect(result.rounds).toBe(3);
  });

  test("keeps the test's own fields of observed resources", async () => {
    const observed = {
      bucket: { apiVersion: "s3.example.org/v1", kind: "Bucket", metadata: { name: "mine" }, status: ready() },
    };
    const result = await converge({ ...both, observed });
    expect(result).toBeReady("bucket");
    expect(result.resource("bucket")?.metadata?.name).toBe("mine");
    expect(result).not.toBeReady("policy");
  });

  test("refuses a resource that is created only if it does not exist", async () => {
    const once = compose(({ desired, observed }) => {
      if (!observed.names().includes("policy")) desired.apply("policy", { apiVersion: "v1", kind: "ConfigMap" });
    });
    const error = await errorOf(() => converge({ ...both, functions: { bucket, policy: once } }));
    expect(error.code).toBe("NotStable");
    expect(error.message).toContain("policy");
  });

  test("refuses output that keeps changing, and names it", async () => {
    let count = 0;
    const counts = compose(({ desired }) => {
      desired.apply("policy", { apiVersion: "v1", kind: "ConfigMap", data: { count: `${count++}` } });
    });
    const error = await errorOf(() => converge({ ...both, functions: { bucket, policy: counts } }, { rounds: 3 }));
    expect(error.code).toBe("NotStable");
    expect(error.message).toContain("policy");
    expect(count).toBe(4);
  });

  test("returns a fatal result", async () => {
    const result = await converge({ ...both, functions: { bucket, policy: compose(() => fatal("no")) } });
    expect(result.fatal?.message).toBe("no");
  });

  test("deleted resources are gone in the next round", async () => {
    const prunes = compose(({ desired }) => desired.prune(({ name }) => name === "old"));
    const observed = { old: { apiVersion: "v1", kind: "ConfigMap" } };
    const input = { ...both, functions: { bucket, policy: prunes }, observed };
    expect((await render(input)).deleted).toEqual(["old"]);
    expect((await converge(input)).deleted).toEqual([]);
  });
});

test.each(["ResourceList", "KRM"])("a function of a step with io: %s takes and returns a FunctionIO", async (io) => {
  const composition = COMPOSITION.replaceAll("type: Container", `type: Container\n    io: ${io}`);
  const rendered = await render({ ...both, composition });
  expect(rendered.resources.map(({ kind }) => kind)).toEqual(["Bucket", "ConfigMap"]);
});

describe("schemas", () => {
  const strict = COMPOSITION.replace("name: bucket\n", "name: bucket\n    schema: Strict\n");
  const sized = (type: string): object => ({
    type: "object",
    properties: { spec: { type: "object", properties: { size: { type } } } },
  });
  const crd = (schema: object): object => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    spec: {
      group: "s3.example.org",
      names: { kind: "Bucket" },
      versions: [{ name: "v1", schema: { openAPIV3Schema: schema } }],
    },
  });

  test("of the test's author are those of steps with schema: Strict", async () => {
    const input = { ...both, composition: strict };
    expect((await render({ ...input, schemas: crd(sized("integer")) })).names).toEqual(["bucket", "policy"]);
    const error = await errorOf(() => render({ ...input, schemas: [crd(sized("string"))] }));
    expect(error).toMatchObject({ code: "InvalidDesired", step: "bucket" });
    expect(error.message).toContain('"bucket" (Bucket): spec.size');
    // Without the setting, and of another kind, nothing is compared.
    expect((await render({ ...both, schemas: crd(sized("string")) })).names).toEqual(["bucket", "policy"]);
    const definition = {
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "CompositeResourceDefinition",
      metadata: { name: "buckets.s3.example.org" },
      spec: {
        group: "s3.example.org",
        names: { kind: "Bucket", plural: "buckets" },
        versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: sized("string") } }],
      },
    };
    expect((await errorOf(() => render({ ...input, schemas: definition }))).code).toBe("InvalidDesired");
  });

  test.each([
    ["another kind", { apiVersion: "v1", kind: "Secret" }, "a Secret"],
    ["no kind", { a: 1 }, "without a kind"],
    ["no versions", { kind: "CustomResourceDefinition", spec: { group: "g", names: { kind: "K" } } }, "spec.versions"],
  ])("that hold %s are refused", async (_, schemas, message) => {
    const error = await errorOf(() => render({ ...both, schemas }));
    expect(error).toMatchObject({ name: "TestingError", code: "InvalidInput" });
    expect(error.message).toContain(message);
  });

  test("that are invalid are refused, with the field", async () => {
    const error = await errorOf(() => render({ ...both, schemas: crd({ type: "objekt" }) }));
    expect(error.name).toBe("SchemaError");
  });
});
