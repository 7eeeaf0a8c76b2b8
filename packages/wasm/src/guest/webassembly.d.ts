// The part of the JavaScript API of WebAssembly (https://webassembly.github.io/spec/js-api/) that this package uses.
// TypeScript declares it together with the DOM, which Node does not have.

declare namespace WebAssembly {
  class Module {
    private readonly brand: "Module";
    constructor(bytes: Uint8Array);
    static imports(module: Module): { module: string; name: string; kind: string }[];
    static exports(module: Module): { name: string; kind: string }[];
  }

  class Memory {
    private readonly brand: "Memory";
    constructor(type: { readonly initial: number; readonly maximum?: number });
    readonly buffer: ArrayBuffer;
  }

  class Instance {
    constructor(module: Module, imports: Readonly<Record<string, object>>);
    readonly exports: Readonly<Record<string, Memory | (() => void) | undefined>>;
  }
}
