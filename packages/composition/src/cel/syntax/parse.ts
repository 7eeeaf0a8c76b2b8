import type { Value } from "../values/value.ts";
import { CelSyntaxError, call, type Expression, type Literal } from "./expression.ts";
import { expandMacro } from "./macros.ts";
import { type Token, tokensOf } from "./tokens.ts";

/** The deepest nesting of an expression, as in an API server. It protects the stack. */
const MAX_DEPTH = 250;

/** The most nodes that macros copy. Each `optMap` of a chain copies the chain before it. */
const MAX_COPIES = 10_000;

/** Words of the language's future, which cannot be variables. They can be fields. */
const RESERVED: ReadonlySet<string> = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(" "),
);

const CONSTANTS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

/**
 * Parses an expression, and expands its macros.
 *
 * @throws {CelSyntaxError}
 */
export function parse(source: string): Expression {
  return new Parser(tokensOf(source)).whole();
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  readonly #copies = { left: MAX_COPIES };

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Expression {
    const expression = this.#expression();
    if (this.#token.kind !== "end") this.#unexpected();
    return expression;
  }

  get #token(): Token {
    return this.#tokens[this.#at] as Token;
  }

  #is(text: string): boolean {
    const { kind, text: found } = this.#token;
    return kind !== "literal" && kind !== "end" && found === text;
  }

  #accept(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#accept(text)) this.#unexpected(text);
  }

  #unexpected(expected?: string): never {
    const hint = expected === undefined ? "" : `, expected '${expected}'`;
    throw new CelSyntaxError(`syntax error at '${this.#token.text.slice(0, 32)}'${hint}`);
  }

  #expression(): Expression {
    if (++this.#depth > MAX_DEPTH) throw new CelSyntaxError("is nested too deeply");
    const condition = this.#or();
    let result = condition;
    if (this.#accept("?")) {
      const yes = this.#or();
      this.#expect(":");
      result = call("_?_:_", condition, yes, this.#expression());
    }
    this.#depth--;
    return result;
  }

  #or(): Expression {
    const terms = [this.#and()];
    while (this.#accept("||")) terms.push(this.#and());
    return balanced("_||_", terms);
  }

  #and(): Expression {
    const terms = [this.#relation()];
    while (this.#accept("&&")) terms.push(this.#relation());
    return balanced("_&&_", terms);
  }

  #relation(): Expression {
    let left = this.#sum();
    for (;;) {
      const { text } = this.#token;
      if (this.#is("in")) {
        this.#at++;
        left = call("@in", left, this.#sum());
      } else if (this.#token.kind === "symbol" && ["<", "<=", ">", ">=", "==", "!="].includes(text)) {
        this.#at++;
        left = call(`_${text}_`, left, this.#sum());
      } else return left;
    }
  }

  #sum(): Expression {
    let left = this.#product();
    for (;;) {
      if (this.#accept("+")) left = call("_+_", left, this.#product());
      else if (this.#accept("-")) left = call("_-_", left, this.#product());
      else return left;
    }
  }

  #product(): Expression {
    let left = this.#unary();
    for (;;) {
      const { text } = this.#token;
      if (!this.#is("*") && !this.#is("/") && !this.#is("%")) return left;
      this.#at++;
      left = call(`_${text}_`, left, this.#unary());
    }
  }

  #unary(): Expression {
    let nots = 0;
    while (this.#accept("!")) nots++;
    if (nots > 0) {
      const operand = this.#member();
      return nots % 2 === 0 ? operand : call("!_", operand);
    }
    let minuses = 0;
    while (this.#is("-") && !this.#isNegative()) {
      this.#at++;
      minuses++;
    }
    const operand = this.#member();
    return minuses % 2 === 0 ? operand : call("-_", operand);
  }

  /** Whether a minus belongs to a number: -9223372036854775808 is one literal. */
  #isNegative(): boolean {
    const next = this.#tokens[this.#at + 1];
    return next?.kind === "literal" && (typeof next.value === "bigint" || typeof next.value === "number");
  }

  #member(): Expression {
    let left = this.#primary();
    for (;;) {
      if (this.#accept(".")) {
        const isOptional = this.#accept("?");
        const field = this.#fieldName();
        if (isOptional) left = call("_?._", left, literal(field));
        else if (this.#accept("(")) left = this.#call(field, left);
        else left = { kind: "select", operand: left, field, testOnly: false };
      } else if (this.#accept("[")) {
        const isOptional = this.#accept("?");
        const index = this.#expression();
        this.#expect("]");
        left = call(isOptional ? "_[?_]" : "_[_]", left, index);
      } else return left;
    }
  }

  #fieldName(): string {
    const { kind, text } = this.#token;
    if (kind !== "ident" || CONSTANTS.has(text) || text === "in") this.#unexpected();
    this.#at++;
    return text;
  }

  #call(name: string, target: Expression | undefined): Expression {
    const args = this.#list(")", () => this.#expression());
    return expandMacro(name, target, args, this.#copies) ?? { kind: "call", name, target, args };
  }

  /** Reads parts that commas separate, up to a closing symbol. Calls have no comma at the end. */
  #list<T>(close: string, read: () => T): T[] {
    const parts: T[] = [];
    while (!this.#accept(close)) {
      parts.push(read());
      if (this.#accept(close)) break;
      this.#expect(",");
      if (this.#is(close) && close === ")") this.#unexpected();
    }
    return parts;
  }

  #primary(): Expression {
    const token = this.#token;
    if (token.kind === "literal") {
      this.#at++;
      return literal(inRange(token.value));
    }
    if (this.#accept("-")) {
      const number = this.#token;
      this.#at++;
      if (number.kind !== "literal" || typeof number.value === "string") this.#unexpected();
      if (typeof number.value === "number") return literal(-number.value);
      if (typeof number.value === "bigint") return literal(inRange(-number.value));
      this.#unexpected();
    }
    if (this.#accept("(")) {
      const inner = this.#expression();
      this.#expect(")");
      return inner;
    }
    if (this.#accept("[")) return this.#listLiteral();
    if (this.#accept("{")) return this.#mapLiteral();
    const isRooted = this.#accept(".");
    const { kind, text } = this.#token;
    if (kind !== "ident" || text === "in") this.#unexpected();
    this.#at++;
    const constant = CONSTANTS.get(text);
    if (constant !== undefined && !isRooted) return literal(constant);
    if (RESERVED.has(text)) throw new CelSyntaxError(`reserved identifier: ${text}`);
    if (this.#accept("(")) return this.#call(text, undefined);
    if (this.#is("{")) throw new CelSyntaxError("messages of protocol buffers are not supported");
    return { kind: "ident", name: text };
  }

  #listLiteral(): Expression {
    const optional = new Set<number>();
    let index = 0;
    const items = this.#list("]", () => {
      if (this.#accept("?")) optional.add(index);
      index++;
      return this.#expression();
    });
    return { kind: "list", items, optional };
  }

  #mapLiteral(): Expression {
    const entries = this.#list("}", () => {
      const optional = this.#accept("?");
      const key = this.#expression();
      this.#expect(":");
      return { key, value: this.#expression(), optional };
    });
    return { kind: "map", entries };
  }
}

function literal(value: Value): Literal {
  return { kind: "literal", value };
}

function inRange<T>(value: T): T {
  if (typeof value === "bigint" && BigInt.asIntN(64, value) !== value) throw new CelSyntaxError("invalid int literal");
  return value;
}

/** A tree of low depth, because terms of `||` and `&&` can be many. */
function balanced(name: string, terms: readonly Expression[]): Expression {
  if (terms.length === 1) return terms[0] as Expression;
  const middle = Math.ceil(terms.length / 2);
  return call(name, balanced(name, terms.slice(0, middle)), balanced(name, terms.slice(middle)));
}
