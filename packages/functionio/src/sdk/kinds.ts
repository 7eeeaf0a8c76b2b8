import type { KubernetesObject } from "@xfn/json";
import type { Input } from "./readonly.ts";

/**
 * The kinds with known types, by `apiVersion/kind`. Empty here: declaration merging adds the kinds of `@xfn/kinds`, and
 * the line that `xfn types` writes for each CRD. `desired.apply` then checks resources of that kind.
 *
 * ```ts
 * declare module "@xfn/functionio/sdk" {
 *   interface Kinds { "s3.example.org/v1/Bucket": Bucket }
 * }
 * ```
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface Kinds {}

/** The metadata that a function can set. A resource without a name gets one that never changes. */
export interface MetadataInput {
  readonly name?: string | undefined;
  readonly generateName?: string | undefined;
  readonly namespace?: string | undefined;
  readonly labels?: { readonly [key: string]: string | undefined } | undefined;
  readonly annotations?: { readonly [key: string]: string | undefined } | undefined;
  readonly [field: string]: unknown;
}

/**
 * The fields that a function can apply to a resource of a known type: all but the status, which its controller writes.
 */
export type Applicable<T> = Input<{
  [K in keyof T as K extends "status" | "metadata" | "apiVersion" | "kind" ? never : K]: T[K];
}> & { readonly metadata?: MetadataInput | undefined; readonly status?: never };

/** A resource of an unknown type: any fields. */
export interface OpenResource {
  readonly metadata?: MetadataInput | undefined;
  readonly [field: string]: unknown;
}

/** The kinds of an apiVersion with known types; never if there are none. */
export type KindsOf<ApiVersion extends string> = {
  [Key in keyof Kinds]: Key extends `${ApiVersion}/${infer Kind}` ? Kind : never;
}[keyof Kinds];

/**
 * The `kind` that a literal can have: any, unless the types know kinds of its apiVersion. The error of another kind is
 * then at this field, with the nearest name.
 */
export type KindIn<ApiVersion extends string, Kind extends string> = string extends ApiVersion | Kind
  ? Kind
  : [KindsOf<ApiVersion>] extends [never]
    ? Kind
    : Kind extends KindsOf<ApiVersion>
      ? Kind
      : KindsOf<ApiVersion>;

/** The fields that `apply` accepts for an apiVersion and kind. */
export type ResourceOf<ApiVersion extends string, Kind extends string> = `${ApiVersion}/${Kind}` extends keyof Kinds
  ? Applicable<Kinds[`${ApiVersion}/${Kind}`]>
  : OpenResource;

/** A resource whose fields are checked by its apiVersion and kind, if {@link Kinds} has them. */
export type ResourceInput<ApiVersion extends string, Kind extends string> = {
  readonly apiVersion: ApiVersion;
  readonly kind: KindIn<ApiVersion, Kind>;
} & ResourceOf<ApiVersion, Kind>;

/** The type of resources of an apiVersion and kind; `KubernetesObject` if `Kinds` does not have it. */
export type KnownKind<ApiVersion extends string, Kind extends string> = `${ApiVersion}/${Kind}` extends keyof Kinds
  ? Kinds[`${ApiVersion}/${Kind}`]
  : KubernetesObject;
