import { ANNOTATION_RESOURCE_NAME, type Composition, type Layout, machineryOf } from "@xfn/composition";
import { someOf } from "@xfn/errors";
import { type JsonObject, listAt, textAt } from "@xfn/json";
import { ApiError, type LiveObject, resourceOf } from "@xfn/kubernetes";
import { CompositeError } from "../../objects/composite-error.ts";
import { groupKind } from "../../objects/kinds.ts";
import { describeReference, objectKey, referenceTo } from "../../objects/references.ts";
import type { Kinds } from "../observe/discover-kinds.ts";
import type { Applicable } from "./applicable.ts";

/** The number of objects that a message names. It counts the others. */
const MAX_NAMED = 5;

/**
 * Refuses to create composed resources while the XR controls objects whose templates are unknown. Crossplane composes
 * such objects from templates without names. Creating them again would duplicate the infrastructure.
 *
 * @param unnamed the objects that the XR controls and that lack the annotation with their entry
 * @param resources the desired resources by object
 * @throws {CompositeError} `UnnamedResources`
 */
export function refuseUnnamed(
  unnamed: readonly LiveObject[],
  resources: ReadonlyMap<string, Applicable>,
  input: UnnamedInput,
): void {
  // An entry with the name of such an object adopts it.
  const unknown = unnamed.filter((object) => !resources.has(objectKey(referenceTo(object))));
  const keys = new Set(unnamed.map((object) => objectKey(referenceTo(object))));
  const creates = [...resources].some(([key, { observed }]) => observed === undefined && !keys.has(key));
  if (unknown.length === 0 || !creates) return;
  const names = unknown.map((object) => describeReference(referenceTo(object)));
  const commands = unknown.slice(0, MAX_NAMED).map((object) => annotateCommand(object, input));
  throw new CompositeError(
    "UnnamedResources",
    `the annotation ${ANNOTATION_RESOURCE_NAME} is missing on ${someOf(names, MAX_NAMED)}, so the templates would create ` +
      `them again; annotate each with the name of its template, or delete it: ${commands.join("; ")}`,
  );
}

/** The data that identifies the template of an object, and the command that annotates the object. */
interface UnnamedInput {
  readonly xr: LiveObject;
  readonly layout: Layout;
  readonly composition: Composition;
  readonly kinds: Kinds;
}

/** @throws {ApiError} if the server no longer serves the object's kind */
function annotateCommand(object: LiveObject, { xr, layout, composition, kinds }: UnnamedInput): string {
  const kind = kinds.of(object);
  if (kind instanceof ApiError) throw kind;
  const { name, namespace } = object.metadata;
  const place = namespace === undefined ? "" : ` -n ${namespace}`;
  const template = templateByOrder(machineryOf(xr, layout), composition, object) ?? "TEMPLATE";
  return `kubectl annotate ${resourceOf(kind)} ${name}${place} ${ANNOTATION_RESOURCE_NAME}=${template}`;
}

/** The template at the object's position in `resourceRefs`, as in Crossplane v1.13, if its kind is the same. */
function templateByOrder(machinery: JsonObject, { spec }: Composition, object: LiveObject): string | undefined {
  const index = listAt(machinery, "resourceRefs").findIndex((one) => textAt(one, "name") === object.metadata.name);
  const template = spec.resources[index];
  if (template === undefined) return undefined;
  const { base } = template;
  const kind = groupKind(textAt(base, "apiVersion") ?? "", textAt(base, "kind") ?? "");
  return kind === groupKind(object.apiVersion, object.kind) ? template.name : undefined;
}
