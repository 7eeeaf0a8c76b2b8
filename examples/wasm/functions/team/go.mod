module example.org/team

go 1.21
