import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DocumentError, type JsonValue } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateTypes } from "./generate.ts";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const TSC = fileURLToPath(new URL("../../../../node_modules/typescript/bin/tsc", import.meta.url));

/** A document as `readDocuments` gives it. */
function document(value: JsonValue): ParsedDocument {
  return { value, source: "crd.yaml", positionOf: () => ({ line: 1, column: 1 }) };
}

function crd(group: string, kind: string, versions: JsonValue[]): ParsedDocument {
  return document({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    spec: { group, names: { kind }, versions },
  });
}

function version(name: string, spec: JsonValue, more: { [key: string]: JsonValue } = {}): JsonValue {
  const properties = { spec, status: { type: "object", properties: { arn: { type: "string" } } } };
  return {
    name,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: "object", required: ["spec"], properties } },
    ...more,
  };
}

const BUCKET = crd("s3.example.org", "Bucket", [
  version("v1", {
    type: "object",
    required: ["region"],
    properties: {
      region: { type: "string", enum: ["eu", "us"], description: "Where it is." },
      port: { "x-kubernetes-int-or-string": true },
      tags: { type: "array", items: { type: "string", nullable: true } },
      labels: { type: "object", additionalProperties: { type: "string" } },
      raw: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      open: {
        type: "object",
        properties: { known: { type: "boolean" } },
        "x-kubernetes-preserve-unknown-fields": true,
      },
      size: { type: "integer", default: 3 },
      "a-b": { type: "number", nullable: true },
    },
  }),
]);

const STORE = document({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  spec: {
    group: "example.org",
    names: { kind: "XStore" },
    claimNames: { kind: "Store" },
    versions: [
      {
        name: "v1",
        referenceable: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { regions: { type: "array", items: { type: "string", enum: ["eu", "us"] } } },
              },
              status: { type: "object", properties: { ready: { type: "boolean" } } },
            },
          },
        },
      },
    ],
  },
});

/** Descriptions and names that try to leave their comment or literal, and to run. */
const HOSTILE = crd('evil.org"; export const a = 1; //', "Evil\n}", [
  version("v1", {
    type: "object",
    description: "*/ export const injected = 1; /*\n@ts-nocheck\u2028*/ export const injected2 = 1;",
    properties: {
      'x"; } export const injected3 = 1; //': { type: "string", description: "**/" },
      "new\nline": { type: "string", enum: ['"; export const injected4 = 1; //', "\u2028", "`${1}`"] },
      __proto__x: { type: "string" },
      constructor: { type: "string", default: "*/ export const injected5 = 1; /*" },
    },
  }),
]);

describe("text", () => {
  test("one interface for each kind and version, found by apiVersion and kind", () => {
    expect(generateTypes([BUCKET])).toBe(`// Written by \`xfn types\`.
// Do not edit: run it again when the definitions change.

declare module "@xfn/functionio/sdk" {
  interface Kinds {
    "s3.example.org/v1/Bucket": Bucket;
  }
}

export interface Bucket {
  apiVersion: "s3.example.org/v1";
  kind: "Bucket";
  metadata: import("@xfn/functionio/sdk").ObjectMeta;
  spec: {
    /** Where it is. */
    region: "eu" | "us";
    port?: number | string;
    tags?: (string | null)[];
    labels?: { [key: string]: string };
    raw?: { [key: string]: unknown };
    open?: {
      known?: boolean;
      [key: string]: unknown;
    };
    /** Default: 3. */
    size?: number;
    "a-b"?: number | null;
  };
  status?: {
    arn?: string;
  };
}
`);
  });

  test("an XRD gives the XR and its claim, whose spec is always there", () => {
    const text = generateTypes([STORE]);
    expect(text).toContain('"example.org/v1/XStore": XStore;');
    expect(text).toContain('"example.org/v1/Store": Store;');
    expect(text.match(/^ {2}spec: \{/gm)).toHaveLength(2);
  });

  test("the stored version has the plain name, kinds of one name carry their group", () => {
    const spec = { type: "object" };
    const text = generateTypes([
      crd("a.org", "Db", [version("v1alpha1", spec, { storage: false }), version("v1", spec)]),
      crd("b.org", "Db", [version("v1", spec)]),
    ]);
    expect([...text.matchAll(/interface (\w+) \{$/gm)].map((match) => match[1])).toEqual([
      "Kinds",
      "ADbV1Alpha1",
      "ADb",
      "BDb",
    ]);
  });

  test("the same kind twice is declared once", () => {
    expect(generateTypes([BUCKET, BUCKET]).match(/export interface/g)).toHaveLength(1);
  });

  test("a List of definitions is read, anything else is refused by name", () => {
    expect(generateTypes([document({ kind: "List", items: [BUCKET.value, STORE.value] })])).toContain(
      "interface XStore",
    );
    expect(() => generateTypes([document({ kind: "Pod" })])).toThrow(DocumentError);
    expect(() =>
      generateTypes([document({ kind: "CustomResourceDefinition", spec: { group: "x", names: { kind: "K" } } })]),
    ).toThrow("spec.versions");
  });
});

describe("compiled", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "xfn-types-"));
    // As an installed package, so that the generated `declare module` is resolved as a user's is.
    await mkdir(join(dir, "node_modules/@xfn"), { recursive: true });
    await symlink(PACKAGE, join(dir, "node_modules/@xfn/functionio"));
    await writeFile(join(dir, "package.json"), '{"type":"module"}');
    const compilerOptions = {
      target: "es2024",
      module: "nodenext",
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      skipLibCheck: true,
      types: [],
      paths: { "@xfn/functionio/sdk": [join(PACKAGE, "src/sdk/index.ts")] },
      allowImportingTsExtensions: true,
    };
    await writeFile(join(dir, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    await writeFile(join(dir, "types.ts"), generateTypes([BUCKET, STORE]));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  /** The lines of `name` that do not compile. */
  async function errors(name: string, source: string): Promise<number[]> {
    await writeFile(join(dir, name), source);
    await writeFile(join(dir, "one.json"), JSON.stringify({ extends: "./tsconfig.json", include: [name, "types.ts"] }));
    const output = await new Promise<string>((resolve) => {
      execFile(process.execPath, [TSC, "-p", join(dir, "one.json"), "--pretty", "false"], (_error, stdout) =>
        resolve(stdout),
      );
    });
    const lines = [...output.matchAll(/^(\S+?)\((\d+),\d+\): error/gm)].filter((match) => match[1]?.endsWith(name));
    const elsewhere = [...output.matchAll(/^(\S+?)\(\d+,\d+\): error.*/gm)].filter(
      (match) => !match[1]?.endsWith(name),
    );
    // Without the package's own node types, its use of Node.js is not checked here: a user's tsc reads declarations.
    expect(elsewhere.filter((match) => /types\.ts/.test(match[1] ?? "")).map((match) => match[0])).toEqual([]);
    return [...new Set(lines.map((match) => Number(match[2])))];
  }

  const HEAD =
    'import { compose, type } from "@xfn/functionio/sdk";\nimport type { Bucket, XStore } from "./types.ts";\n';

  test("valid code compiles", async () => {
    const source = `${HEAD}
export default compose<XStore>(({ xr, desired, observed }) => {
  for (const region of xr.spec.regions ?? []) {
    desired.apply("b", {
      apiVersion: "s3.example.org/v1", kind: "Bucket", metadata: { labels: { a: "b" } },
      spec: { region, port: "http", tags: ["x", null], labels: { a: "b" }, raw: { any: [1] }, open: { known: true, other: 1 }, size: undefined, "a-b": null },
    }, { readinessChecks: [{ type: "None" }], connectionDetails: [{ fromConnectionSecretKey: "k" }] });
  }
  desired.apply("open", { apiVersion: "v1", kind: "ConfigMap", data: { a: "b" } });
  desired.composite.status({ ready: true });
  const arn: string | undefined = observed.resource<Bucket>("b")?.status?.arn;
  void arn;
});
export const configured = compose({ composite: type<XStore>(), config: type<{ n: number }>() }, ({ xr, config }) => {
  const n: number = config.n + (xr.spec.regions?.length ?? 0);
  void n;
});
`;
    expect(await errors("right.ts", source)).toEqual([]);
  });

  test("typos, wrong enums, missing fields and composed status do not", async () => {
    const lines = [
      'desired.apply("b", { apiVersion: "s3.example.org/v1", kind: "Bucket", spec: { region: "mars" } });',
      'desired.apply("b", { apiVersion: "s3.example.org/v1", kind: "Bucket", spec: { region: "eu", sise: 1 } });',
      'desired.apply("b", { apiVersion: "s3.example.org/v1", kind: "Bucket", spec: {} });',
      'desired.apply("b", { apiVersion: "s3.example.org/v1", kind: "Bucket" });',
      'desired.apply("b", { apiVersion: "s3.example.org/v1", kind: "Bucket", spec: { region: "eu" }, status: { arn: "x" } });',
      'desired.apply("b", { apiVersion: "s3.example.org/v1", kind: "Bucket", spec: { region: "eu" }, speck: {} });',
      'desired.apply("b", { kind: "Bucket", spec: {} });',
      'desired.apply("b", { apiVersion: "v1", kind: "A" }, { readinessChecks: [{ type: "Never" }] });',
      "xr.spec.regoins;",
      "xr.spec.regions = [];",
      'xr.spec.regions?.push("eu");',
      "desired.composite.status({ raedy: true });",
      'desired.composite.connectionDetail("a", 1);',
    ];
    const source = `${HEAD}export default compose<XStore>(({ xr, desired }) => {\n${lines.join("\n")}\n});\n`;
    expect(await errors("wrong.ts", source)).toEqual(lines.map((_line, index) => index + 4));
  });

  test("a handler that returns desired state does not", async () => {
    const source = `${HEAD}export default compose<XStore>(async () => ({ desired: {} }));\n`;
    expect(await errors("returns.ts", source)).toEqual([3]);
  });

  test("hostile names and descriptions stay names and descriptions", async () => {
    const text = generateTypes([HOSTILE]);
    await writeFile(join(dir, "hostile.ts"), text);
    // If anything broke out, the import below would find it, and the file would not compile.
    const names = ["a", "injected", "injected2", "injected3", "injected4", "injected5"];
    const source = names.map((name) => `import { ${name} } from "./hostile.ts";`).join("\n");
    expect(await errors("breakout.ts", source)).toEqual(names.map((_name, index) => index + 1));
    expect(await errors("hostile.ts", text)).toEqual([]);
    expect(text).not.toMatch(/@ts-|\u2028/);
  });
});
