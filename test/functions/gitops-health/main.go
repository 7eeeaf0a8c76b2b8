// gitops-health evaluates the health of an object as Argo CD and Flux do: by a Lua script, or by a CEL expression. It reads one JSON
// object from stdin: {"lua": SCRIPT or "cel": EXPRESSION, "object": OBJECT}, and prints the result as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	lua "github.com/yuin/gopher-lua"
)

type request struct {
	Lua    string         `json:"lua"`
	Cel    string         `json:"cel"`
	Object map[string]any `json:"object"`
}

func main() {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fail(err)
	}
	evaluate := byCel
	if asked.Lua != "" {
		evaluate = byLua
	}
	result, err := evaluate(asked)
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// byLua runs the script with the global `obj`, as Argo CD does, which opens few libraries.
func byLua(asked request) (any, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString} {
		state.Push(state.NewFunction(library))
		state.Call(0, 0)
	}
	state.SetGlobal("obj", luaValue(state, asked.Object))
	if err := state.DoString(asked.Lua); err != nil {
		return nil, err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return nil, fmt.Errorf("the script returned %s", state.Get(-1).Type())
	}
	return map[string]string{
		"status":  lua.LVAsString(table.RawGetString("status")),
		"message": lua.LVAsString(table.RawGetString("message")),
	}, nil
}

func luaValue(state *lua.LState, value any) lua.LValue {
	switch typed := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, item := range typed {
			table.RawSetString(key, luaValue(state, item))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range typed {
			table.Append(luaValue(state, item))
		}
		return table
	case string:
		return lua.LString(typed)
	case float64:
		return lua.LNumber(typed)
	case bool:
		return lua.LBool(typed)
	}
	return lua.LNil
}

// byCel evaluates the expression with the object's fields as variables, as Flux does.
func byCel(asked request) (any, error) {
	options := []cel.EnvOption{ext.Strings()}
	for _, name := range []string{"apiVersion", "kind", "metadata", "spec", "status"} {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, err
	}
	tree, issues := env.Compile(asked.Cel)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := env.Program(tree)
	if err != nil {
		return nil, err
	}
	result, _, err := program.Eval(asked.Object)
	if err != nil {
		return nil, err
	}
	return result.Value(), nil
}
