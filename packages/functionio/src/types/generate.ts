import { isObject, type JsonObject } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { type KindVersion, readDefinitions } from "./definition.ts";
import { comment, propertyLine, quote } from "./schema-type.ts";

/** Options of {@link generateTypes}. */
export interface TypesOptions {
  /** The sources that the first line names. */
  readonly sources?: readonly string[];
  /** Which kinds get an interface. Default: all. */
  readonly select?: (kind: KindVersion) => boolean;
}

/**
 * TypeScript interfaces for the kinds of CRDs and CompositeResourceDefinitions, one for each kind and version, with
 * their entries in `Kinds`. `desired.apply` of the SDK finds them there by `apiVersion` and `kind`. Only types: nothing
 * exists at run time. The same documents in the same order give the same text.
 *
 * The stored or referenceable version of a kind has its plain name, `Bucket`; other versions are suffixed,
 * `BucketV1Alpha1`. Kinds with the same name in several groups are prefixed with the group: `S3Bucket`.
 *
 * @throws {DocumentError} Invalid if a document is not a definition
 */
export function generateTypes(documents: readonly ParsedDocument[], options: TypesOptions = {}): string {
  const { sources = [], select = () => true } = options;
  const kinds = unique(readDefinitions(documents)).filter(select);
  const command = quote(["xfn types", ...sources].join(" ")).slice(1, -1);
  const names = nameInterfaces(kinds);
  const named = kinds.map((kind, index) => ({ kind, name: names[index] ?? kind.kind }));
  const register = named.map(({ kind, name }) => `    ${quote(`${apiVersion(kind)}/${kind.kind}`)}: ${name};`);
  const interfaces = named.map(({ kind, name }) => printInterface(kind, name));
  return [
    `// Written by \`${command}\`.\n// Do not edit: run it again when the definitions change.`,
    `declare module "@xfn/functionio/sdk" {\n  interface Kinds {\n${register.join("\n")}\n  }\n}`,
    ...interfaces,
    // A file without kinds must be a module too.
    ...(interfaces.length === 0 ? ["export {};"] : []),
  ]
    .join("\n\n")
    .concat("\n");
}

function apiVersion({ group, version }: KindVersion): string {
  return group === "core" ? version : `${group}/${version}`;
}

/** The last definition of a kind and version counts, in the position of the first. */
function unique(kinds: readonly KindVersion[]): KindVersion[] {
  return [...new Map(kinds.map((kind) => [`${apiVersion(kind)}/${kind.kind}`, kind])).values()];
}

function printInterface(kind: KindVersion, name: string): string {
  const { schema } = kind;
  const properties: JsonObject = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const lines = [
    `  apiVersion: ${quote(apiVersion(kind))};`,
    `  kind: ${quote(kind.kind)};`,
    '  metadata: import("@xfn/functionio/sdk").ObjectMeta;',
  ];
  for (const [field, property] of Object.entries(properties)) {
    if (field === "apiVersion" || field === "kind" || field === "metadata") continue;
    // The controller writes the status later, so readers must handle its absence.
    const always = field !== "status" && (required.includes(field) || (kind.composite && field === "spec"));
    lines.push(propertyLine(field, property, always, "  "));
  }
  if (schema["x-kubernetes-preserve-unknown-fields"] === true || Object.keys(properties).length === 0) {
    lines.push("  [key: string]: unknown;");
  }
  return `${comment(schema, "")}export interface ${name} {\n${lines.join("\n")}\n}`;
}

/** Names that would shadow a name of the generated file. */
const TAKEN: ReadonlySet<string> = new Set(["Kinds"]);

function nameInterfaces(kinds: readonly KindVersion[]): string[] {
  const groups = new Map<string, Set<string>>();
  const versions = new Map<string, KindVersion[]>();
  for (const kind of kinds) {
    const base = identifier(kind.kind);
    groups.set(base, (groups.get(base) ?? new Set()).add(kind.group));
    const key = `${kind.group}/${kind.kind}`;
    versions.set(key, [...(versions.get(key) ?? []), kind]);
  }
  const used = new Set<string>(TAKEN);
  return kinds.map((kind) => {
    const all = versions.get(`${kind.group}/${kind.kind}`) ?? [];
    const plain = all.find(({ preferred }) => preferred) ?? all.at(-1);
    let name = identifier(kind.kind);
    const sharing = groups.get(name) ?? new Set();
    if (sharing.size > 1) {
      const first = [...sharing].filter((group) => group.split(".")[0] === kind.group.split(".")[0]);
      name = identifier(first.length > 1 ? kind.group : (kind.group.split(".")[0] ?? "")) + name;
    }
    if (kind !== plain) name += identifier(kind.version);
    let free = name;
    for (let n = 2; used.has(free); n++) free = `${name}_${n}`;
    used.add(free);
    return free;
  });
}

/** `v1alpha1` -> `V1Alpha1`, `s3.example.org` -> `S3ExampleOrg`: only letters and digits, with a capital first. */
function identifier(text: string): string {
  const words = text.match(/[A-Za-z]+|[0-9]+/g) ?? [];
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return /^[A-Z]/.test(joined) ? joined : `Kind${joined}`;
}
