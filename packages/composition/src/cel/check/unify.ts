import { DYN, sameType, type Type } from "../values/type.ts";
import { visit } from "../values/visit.ts";

/** The types that type variables stand for, by the variable's name. */
export type Bindings = Map<string, Type>;

/** Replaces the type variables of a type. With `free`, unbound variables become that type. */
export function resolve(bindings: Bindings, type: Type, free?: Type): Type {
  visit();
  if (type.kind === "param") {
    const bound = bindings.get(type.name);
    return bound === undefined ? (free ?? type) : resolve(bindings, bound, free);
  }
  if (type.params.length === 0) return type;
  return { ...type, params: type.params.map((inner) => resolve(bindings, inner, free)) };
}

/**
 * Whether a value of one type can be used as the other. Types unify in both directions, as in cel-go.
 *
 * @param bindings - extended if the types fit, unchanged if they do not
 */
export function unify(bindings: Bindings, a: readonly Type[], b: readonly Type[]): boolean {
  const extended = new Extension(bindings);
  if (a.length !== b.length || !a.every((one, at) => fits(extended, one, b[at] as Type))) return false;
  for (const [name, type] of extended) bindings.set(name, type);
  return true;
}

/** New bindings on top of existing ones. A copy would take longer with each type variable of the expression. */
class Extension extends Map<string, Type> {
  readonly #base: Bindings;

  constructor(base: Bindings) {
    super();
    this.#base = base;
  }

  override get(name: string): Type | undefined {
    return super.get(name) ?? this.#base.get(name);
  }
}

function fits(bindings: Bindings, a: Type, b: Type): boolean {
  visit();
  if (b.kind === "param") {
    const bound = bind(bindings, a, b);
    if (bound.fits) return true;
    if (bound.isBound) return false;
  }
  if (a.kind === "param") return bind(bindings, b, a).fits;
  if (isOpen(a) || isOpen(b)) return true;
  if (a.kind === "null") return isNullable(b);
  if (b.kind === "null") return isNullable(a);
  if (a.kind === "type") return b.kind === "type";
  if (a.kind !== b.kind || a.name !== b.name || a.params.length !== b.params.length) return false;
  return a.params.every((inner, at) => fits(bindings, inner, b.params[at] as Type));
}

/** Types without checks: dynamic values, and expressions that were reported. */
export function isOpen(type: Type): boolean {
  return type.kind === "dyn" || type.kind === "error";
}

function isNullable({ kind }: Type): boolean {
  return kind === "null" || ["opaque", "struct", "duration", "timestamp"].includes(kind);
}

/** Binds a type variable to a type, or to the more general one of it and the bound type. */
function bind(bindings: Bindings, type: Type, variable: Type): { fits: boolean; isBound: boolean } {
  if (sameType(type, variable)) return { fits: true, isBound: true };
  const bound = bindings.get(variable.name);
  if (bound === undefined) {
    if (occurs(bindings, variable, type)) return { fits: false, isBound: false };
    bindings.set(variable.name, type);
    return { fits: true, isBound: false };
  }
  if (sameType(type, bound)) return { fits: true, isBound: true };
  if (!fits(bindings, type, bound)) return { fits: false, isBound: true };
  const general = moreGeneral(type, bound);
  if (!occurs(bindings, variable, general)) bindings.set(variable.name, general);
  return { fits: true, isBound: true };
}

/** Whether a type variable is a part of a type. It cannot stand for a type that contains it. */
function occurs(bindings: Bindings, variable: Type, type: Type): boolean {
  visit();
  if (sameType(variable, type)) return true;
  if (type.kind === "param") {
    const bound = bindings.get(type.name);
    return bound !== undefined && occurs(bindings, variable, bound);
  }
  return type.params.some((inner) => occurs(bindings, variable, inner));
}

/** The more general one of two types that unify. */
export function moreGeneral(a: Type, b: Type): Type {
  return isAtLeastAsGeneral(a, b) ? a : b;
}

function isAtLeastAsGeneral(a: Type, b: Type): boolean {
  visit();
  if (a.kind === "dyn" || a.kind === "param") return true;
  if (b.kind === "dyn" || b.kind === "param") return false;
  if (a.kind !== b.kind) return false;
  if (a.kind === "type") return true;
  if (a.name !== b.name || a.params.length !== b.params.length) return false;
  return a.params.every((inner, at) => isAtLeastAsGeneral(inner, b.params[at] ?? DYN));
}
