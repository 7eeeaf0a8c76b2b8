import type { JsonObject } from "@xfn/json";
import { name, type TextSchema, textThat } from "../api-schema/schema.ts";

// The references of images and packages, in the grammar of the OCI distribution specification ("Pulling manifests").
// Files and API servers check them by the same expressions, which are valid in RE2 and in ECMAScript.

const LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const PORT = ":[0-9]{1,5}";
/** With a dot or a port: the first part of a repository has neither. */
const REGISTRY = `(localhost(${PORT})?|${LABEL}(\\.${LABEL})+(${PORT})?|${LABEL}${PORT}|\\[[0-9A-Fa-f:.]{2,45}\\](${PORT})?)`;
const PART = "[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*";
const REPOSITORY = `${PART}(/${PART})*`;
const TAG = ":[A-Za-z0-9_][A-Za-z0-9._-]{0,127}";
const DIGEST = "@(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})";

const PACKAGE = `^${REGISTRY}/${REPOSITORY}(${TAG}(${DIGEST})?|${DIGEST})$`;
/** A package, or a folder with an OCI image layout. */
const CALLED_PACKAGE = `^oci:.+$|${PACKAGE}`;
/** An image, a folder with an OCI image layout, or an image of the local store. */
const IMAGE = `^(oci|store):.+$|^(${REGISTRY}/)?${REPOSITORY}(${TAG})?(${DIGEST})?$`;
/** The folder of a function, which `xfn render` builds. */
const FOLDER = "^[.]{0,2}/|^[.]{1,2}$";

/** The longest reference of a registry. */
const MAX_LENGTH = 1024;

const PACKAGE_MESSAGE =
  "must be a fully qualified image name with a registry, a repository, and a tag or digest, such as " +
  "registry.example.com/repo/package:tag";
const IMAGE_MESSAGE =
  "must be an image reference [REGISTRY/]REPOSITORY[:TAG][@DIGEST] with a sha256 or sha512 digest, or oci:DIR";

/**
 * A text with a reference: the schema of a file, and of a CRD.
 *
 * @param local a pattern of texts that only a file can have
 */
function reference(pattern: string, message: string, local?: string): TextSchema {
  const expression = new RegExp(local === undefined ? pattern : `${pattern}|${local}`, "u");
  // A raw string has no escapes of CEL. A rule has a message, and a pattern would show only the expression.
  const rule: JsonObject = { rule: `self.matches(r'${pattern}')`, message };
  return textThat({ ...name(MAX_LENGTH).openApi, "x-kubernetes-validations": [rule] }, (text) =>
    text.length <= MAX_LENGTH && expression.test(text) ? undefined : `${JSON.stringify(text.slice(0, 128))} ${message}`,
  );
}

/** The package of a Function or a runtime. A reference without a registry could name another package elsewhere. */
export const PACKAGE_REFERENCE: TextSchema = reference(PACKAGE, PACKAGE_MESSAGE);

/** The package that a step calls. */
export const CALLED_PACKAGE_REFERENCE: TextSchema = reference(CALLED_PACKAGE, `${PACKAGE_MESSAGE}; or oci:DIR`, FOLDER);

/** The image that a step runs. */
export const IMAGE_REFERENCE: TextSchema = reference(IMAGE, IMAGE_MESSAGE, FOLDER);

const CALLED_EXPRESSION = new RegExp(CALLED_PACKAGE, "u");

/** Whether a text names a package with its registry and version, or as an OCI image layout. */
export function isPackageReference(text: string): boolean {
  return text.length <= MAX_LENGTH && CALLED_EXPRESSION.test(text);
}
