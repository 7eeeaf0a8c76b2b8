/** A type whose every level is read-only. */
export type DeepReadonly<T> = T extends string | number | boolean | bigint | symbol | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? DeepReadonlyArray<E>
    : { readonly [K in keyof T]: DeepReadonly<T[K]> };

/** An interface, so that recursive types such as JsonValue are expanded only as far as they are used. */
export interface DeepReadonlyArray<E> extends ReadonlyArray<DeepReadonly<E>> {}

/**
 * An input for a T: read-only, and with optional fields that can be undefined. Undefined fields are omitted, so that
 * `tags: xr.spec.tags` needs no condition.
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
