import {
  DocumentError,
  formatPath,
  type Issue,
  isObject,
  type JsonObject,
  type JsonPath,
  type JsonValue,
  kindOf,
} from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";

/** One version of a kind in a definition. */
export interface KindVersion {
  group: string;
  version: string;
  kind: string;
  /** The OpenAPI schema of the whole object; empty if the definition has none. */
  schema: JsonObject;
  /** The version that gets the kind's plain name: the stored one, or the one that compositions reference. */
  preferred: boolean;
  /** Whether it is a composite resource or a claim, which always have a spec. */
  composite: boolean;
}

/**
 * The kinds that documents define: `CustomResourceDefinition` (v1 and v1beta1), `CompositeResourceDefinition` (the XR
 * and, if offered, its claim) and `List`s of these.
 *
 * @throws {DocumentError} Invalid
 */
export function readDefinitions(documents: readonly ParsedDocument[]): KindVersion[] {
  return documents.flatMap((document) => new Reader(document).read(document.value, []));
}

class Reader {
  readonly #document: ParsedDocument;

  constructor(document: ParsedDocument) {
    this.#document = document;
  }

  read(value: JsonValue, path: JsonPath): KindVersion[] {
    const object = this.#object(value, path);
    const { kind } = object;
    if (kind === "List" && Array.isArray(object["items"])) {
      return object["items"].flatMap((item, index) => this.read(item, [...path, "items", index]));
    }
    if (kind !== "CustomResourceDefinition" && kind !== "CompositeResourceDefinition") {
      const found = typeof kind === "string" ? `a ${JSON.stringify(kind)}` : kindOf(kind);
      this.#fail(
        [...path, "kind"],
        `expected a CustomResourceDefinition or CompositeResourceDefinition, found ${found}`,
      );
    }
    const spec = this.#object(object["spec"], [...path, "spec"]);
    const at = [...path, "spec"];
    const group = this.#text(spec["group"], [...at, "group"]);
    const composite = kind === "CompositeResourceDefinition";
    const kinds = [this.#kind(spec["names"], [...at, "names"])];
    if (composite && isObject(spec["claimNames"])) kinds.push(this.#kind(spec["claimNames"], [...at, "claimNames"]));
    const versions = this.#versions(spec, at);
    return kinds.flatMap((name) => versions.map((version) => ({ group, kind: name, composite, ...version })));
  }

  #versions(spec: JsonObject, path: JsonPath): Pick<KindVersion, "version" | "schema" | "preferred">[] {
    // v1beta1 had one schema for all versions, and could name a single version.
    const shared = isObject(spec["validation"]) ? spec["validation"] : undefined;
    const list: JsonValue =
      spec["versions"] ?? (typeof spec["version"] === "string" ? [{ name: spec["version"], storage: true }] : null);
    if (!Array.isArray(list) || list.length === 0) this.#fail([...path, "versions"], "expected a list of versions");
    return list.map((item, index) => {
      const at = [...path, "versions", index];
      const version = this.#object(item, at);
      const schema = isObject(version["schema"]) ? version["schema"] : (shared ?? {});
      const openapi = schema["openAPIV3Schema"];
      return {
        version: this.#text(version["name"], [...at, "name"]),
        schema: isObject(openapi) ? openapi : {},
        preferred: version["storage"] === true || version["referenceable"] === true,
      };
    });
  }

  #kind(names: JsonValue | undefined, path: JsonPath): string {
    return this.#text(this.#object(names, path)["kind"], [...path, "kind"]);
  }

  #object(value: JsonValue | undefined, path: JsonPath): JsonObject {
    if (!isObject(value)) this.#fail(path, `expected an object, found ${kindOf(value)}`);
    return value;
  }

  #text(value: JsonValue | undefined, path: JsonPath): string {
    if (typeof value !== "string" || value === "") this.#fail(path, `expected a string, found ${kindOf(value)}`);
    return value;
  }

  #fail(path: JsonPath, message: string): never {
    const issue: Issue = { path: formatPath(path), message, ...this.#document.positionOf(path) };
    throw new DocumentError("Invalid", [issue], this.#document.source);
  }
}
