Return
