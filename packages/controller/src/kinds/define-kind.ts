import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { ResourceKind } from "@xfn/kubernetes";
import { type Fields, schemaOf, type ValuesOf } from "./fields.ts";
import { readerOf } from "./view.ts";

/** Identifies the CRDs that the controller installed. The CRDs of other programs lack this label. */
export const PART_OF_LABEL: readonly [key: string, value: string] = ["app.kubernetes.io/part-of", "xfn"];

/** Whether an object is a CRD that the controller installed. */
export function isOwnCrd({ kind, metadata }: KubernetesObject): boolean {
  return kind === "CustomResourceDefinition" && metadata?.labels?.[PART_OF_LABEL[0]] === PART_OF_LABEL[1];
}

/** A kind of our own: what identifies it, its CRD, and typed reads of its objects. */
export interface Kind<Values> extends ResourceKind {
  /** The fields of an object. A field of another type than the schema's counts as absent. */
  of(object: JsonObject | undefined): Values;
  /** Its CRD. @param version the controller's, for a label that `xfn version` reads */
  crd(version?: string): KubernetesObject;
}

/** The only description of a kind. */
interface Declaration<F extends Fields> {
  readonly group: string;
  readonly kind: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** The first is the version that the server stores. */
  readonly versions: readonly [string, ...string[]];
  /** A description of the kind for `kubectl explain`. */
  readonly about: string;
  /** The fields of its objects except `metadata`. */
  readonly fields: F | ((version: string) => F);
  /** Printer columns. Default: only AGE. */
  readonly columns?: readonly JsonObject[];
  /** Keywords of the whole schema, such as rules. */
  readonly more?: JsonObject;
  /** Whether its objects have no separate status: not even an empty one. */
  readonly hasNoStatus?: true;
  /** Default: cluster-scoped. */
  readonly namespaced?: true;
}

/** Declares a kind. */
export function defineKind<F extends Fields>(declaration: Declaration<F>): Kind<ValuesOf<F>> {
  const { group, kind, versions, fields, about, more, namespaced = false } = declaration;
  const [stored] = versions;
  const schemaIn = (version: string): JsonObject => {
    const own = typeof fields === "function" ? fields(version) : fields;
    return { ...schemaOf({ ...STANDARD_FIELDS, ...own }), description: about, ...more };
  };
  const read = readerOf(schemaIn(stored));
  return {
    group,
    version: stored,
    kind,
    plural: pluralOf(kind),
    namespaced,
    of: (object) => read(object) as ValuesOf<F>,
    crd: (version) => crdOf(declaration, schemaIn, version),
  };
}

function labelsOf(version: string | undefined): Record<string, string> {
  return {
    [PART_OF_LABEL[0]]: PART_OF_LABEL[1],
    ...(version !== undefined && { "app.kubernetes.io/version": version }),
  };
}

function pluralOf(kind: string): string {
  return `${kind.toLowerCase()}s`.replace(/ys$/, "ies");
}

/** The API server describes these. */
const STANDARD_FIELDS: Fields = {
  apiVersion: { openApi: { type: "string" } },
  kind: { openApi: { type: "string" } },
  metadata: { openApi: { type: "object" } },
};

export const AGE: JsonObject = { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" };

function crdOf<F extends Fields>(
  { group, kind, shortNames, categories = [], versions, columns = [AGE], hasNoStatus, namespaced }: Declaration<F>,
  schemaIn: (version: string) => JsonObject,
  version: string | undefined,
): KubernetesObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${pluralOf(kind)}.${group}`, labels: labelsOf(version) },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural: pluralOf(kind),
        singular: kind.toLowerCase(),
        ...(shortNames && { shortNames: [...shortNames] }),
        categories: ["crossplane", ...categories],
      },
      scope: namespaced ? "Namespaced" : "Cluster",
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: schemaIn(name) },
        subresources: hasNoStatus === true ? {} : { status: {} },
        additionalPrinterColumns: [...columns],
      })),
    },
  };
}

/** A printer column with the status of a condition. */
export function conditionColumn(name: string, type: string): JsonObject {
  return column(name, `.status.conditions[?(@.type=='${type}')].status`);
}

/** A printer column. @param more `{ priority: 1 }`: only with `-o wide` */
export function column(name: string, jsonPath: string, more?: JsonObject): JsonObject {
  return { name, type: "string", jsonPath, ...more };
}
