import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { documentsOf, InputError, positionOf, readInput } from "@xfn/input";
import { isObject, objectAt, textsAt } from "@xfn/json";
import { printYaml } from "@xfn/json/document";
import { isPackageName, META_GROUP } from "@xfn/package";

/** The accepted versions: all that Crossplane has had. */
const API_VERSIONS: ReadonlySet<unknown> = new Set([
  `${META_GROUP}/v1alpha1`,
  `${META_GROUP}/v1beta1`,
  `${META_GROUP}/v1`,
]);
/** Metadata in the folder. The second name is that of a package's source (Crossplane xpkg specification). */
const FILES = ["package.yaml", "crossplane.yaml"] as const;

/** The name and annotations of a function's package. */
export interface PackageMetadata {
  readonly name: string;
  /** `metadata.annotations`: `meta.crossplane.io/source` and the like. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The `package.yaml` of the image. */
  readonly content: Uint8Array;
}

/**
 * The `package.yaml` of an image (Crossplane design document "Composition Functions", section "Packaging Containerized
 * Functions"): the folder's `package.yaml` or `crossplane.yaml`, else one with the folder's name.
 *
 * @param version - of metadata that the folder lacks: `v1` for a function that serves gRPC, which Crossplane installs;
 *   `v1alpha1`, of the design document, for one that only reads a FunctionIO
 * @throws InputError if the folder's own is invalid
 */
export async function packageMetadata(dir: string, version: "v1" | "v1alpha1"): Promise<PackageMetadata> {
  const path = FILES.map((file) => join(dir, file)).find((file) => statSync(file, { throwIfNoEntry: false }));
  if (path === undefined) {
    const name = nameOf(dir);
    const document = { apiVersion: `${META_GROUP}/${version}`, kind: "Function", metadata: { name } };
    return { name, annotations: {}, content: Buffer.from(printYaml(document)) };
  }
  const [document, second] = await documentsOf(path);
  if (document === undefined) throw new InputError(`${path} is empty`);
  if (second !== undefined) throw new InputError(`${path} must hold one document`, { details: [positionOf(second)] });
  const { value } = document;
  const { apiVersion, kind } = objectAt(value);
  const { name, annotations } = objectAt(value, "metadata");
  const faults = [
    API_VERSIONS.has(apiVersion) ? undefined : `apiVersion must be ${[...API_VERSIONS].join(" or ")}`,
    kind === "Function" ? undefined : "kind must be Function",
    isPackageName(name) ? undefined : "metadata.name must be a Kubernetes name",
    faultOf(annotations),
  ].filter((fault) => fault !== undefined);
  if (faults.length > 0)
    throw new InputError(`${path} is not the metadata of a function`, {
      details: faults.map((fault) => `${path}: ${fault}`),
    });
  return { name: name as string, annotations: textsAt(annotations), content: await readInput(path) };
}

/** Why a Kubernetes API server would refuse annotations; undefined if it would not. */
function faultOf(annotations: unknown): string | undefined {
  if (annotations === undefined || annotations === null) return undefined;
  if (!isObject(annotations)) return "metadata.annotations must be an object";
  const wrong = Object.keys(annotations).find((key) => typeof annotations[key] !== "string");
  return wrong === undefined ? undefined : `metadata.annotations[${wrong}] must be a text: quote it`;
}

function nameOf(dir: string): string {
  const name = basename(dir)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 63);
  return name === "" ? "function" : name.replace(/-+$/, "");
}
