/** A type whose every level is read-only. */
export type DeepReadonly<T> = T extends string | number | boolean | bigint | symbol | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? DeepReadonlyArray<E>
    : { readonly [K in keyof T]: DeepReadonly<T[K]> };

/** An interface, so that recursive types such as JsonValue are expanded only as far as they are used. */
export interface DeepReadonlyArray<E> extends ReadonlyArray<DeepReadonly<E>> {}

/**
 * What may be given where a T is wanted: read-only, and with optional fields that may be undefined (they are left out), so
 * that `tags: xr.spec.tags` needs no condition around it.
 */
export type Input<T> = T extends string | number | boolean | bigint | symbol | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? InputArray<E>
    : { readonly [K in keyof T]: Record<never, never> extends Pick<T, K> ? Input<T[K]> | undefined : Input<T[K]> };

/** An interface, for the same reason as {@link DeepReadonlyArray}. */
export interface InputArray<E> extends ReadonlyArray<Input<E>> {}

/** Some fields of a T, at every level above lists. */
export type PartialInput<T> = T extends string | number | boolean | bigint | symbol | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? InputArray<E>
    : { readonly [K in keyof T]?: PartialInput<T[K]> | undefined };
