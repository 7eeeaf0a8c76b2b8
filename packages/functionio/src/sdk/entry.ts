// The first import of a bundle's entry. It protects stdout before any other module can write to it.
import { keepStdoutClean, serve } from "./serve.ts";

keepStdoutClean();

export { serve };
