module example.org/subnets

go 1.21
