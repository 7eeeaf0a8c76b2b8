import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { isObject } from "@xfn/functionio";
import { printYaml } from "@xfn/functionio/document";
import { inputError } from "../errors.ts";
import { documentsOf, place } from "../input/documents.ts";
import { readInput } from "../input/read-input.ts";

const API_VERSION = "meta.pkg.crossplane.io/v1alpha1";
// Kubernetes names of this kind (RFC 1123 subdomains).
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAX_NAME = 253;

/**
 * The `package.yaml` of an image (seed 000, "Packaging Containerized Functions"): the folder's own, if it has one, else one
 * with the folder's name.
 *
 * @throws CliError `Input` when the folder's own is not what the format asks for
 */
export async function packageYaml(dir: string): Promise<Uint8Array> {
  const path = join(dir, "package.yaml");
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    const document = { apiVersion: API_VERSION, kind: "Function", metadata: { name: nameOf(dir) } };
    return Buffer.from(printYaml(document));
  }
  const [document, second] = await documentsOf(path);
  if (document === undefined) throw inputError(`${path} is empty`);
  if (second !== undefined) throw inputError(`${path} must hold one document`, [place(second)]);
  const { value } = document;
  const metadata = isObject(value) && isObject(value["metadata"]) ? value["metadata"] : {};
  const { name } = metadata;
  const faults = [
    isObject(value) && value["apiVersion"] === API_VERSION ? undefined : `apiVersion must be ${API_VERSION}`,
    isObject(value) && value["kind"] === "Function" ? undefined : "kind must be Function",
    typeof name === "string" && NAME.test(name) && name.length <= MAX_NAME
      ? undefined
      : "metadata.name must be a Kubernetes name",
  ].filter((fault) => fault !== undefined);
  if (faults.length > 0)
    throw inputError(
      `${path} is not the metadata of a function`,
      faults.map((fault) => `${path}: ${fault}`),
    );
  return readInput(path);
}

function nameOf(dir: string): string {
  const name = basename(dir)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 63);
  return name === "" ? "function" : name.replace(/-+$/, "");
}
